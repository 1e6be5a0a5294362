// Three workers; all of them live while the second one stands at its marker.

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;

final class Threads {
    static final CyclicBarrier TOGETHER = new CyclicBarrier(4);
    static final CyclicBarrier FINISH = new CyclicBarrier(4);
    static final Map<Integer, Integer> RESULTS = new ConcurrentHashMap<>();

    static void meet(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException broken) {
            throw new IllegalStateException(broken);
        }
    }

    static void work(int number) {
        int square = number * number;
        meet(TOGETHER);
        if (number == 2) {
            RESULTS.put(number, square); // @worker
        }
        meet(FINISH);
        RESULTS.put(number, square);
    }

    public static void main(String[] args) throws InterruptedException {
        List<Thread> workers = new ArrayList<>();
        for (int i = 1; i <= 3; i++) {
            int number = i;
            workers.add(new Thread(() -> work(number), "worker-" + number));
        }
        workers.forEach(Thread::start);
        meet(TOGETHER);
        meet(FINISH); // @main
        for (Thread worker : workers) {
            worker.join();
        }
        System.out.println(RESULTS); // @joined
    }
}
