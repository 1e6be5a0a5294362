// Prints much: as many megabytes as the first argument says, in lines of 100 bytes.

#include <iostream>
#include <string>

int main(int argc, char **argv) {
    double megabytes = argc > 1 ? std::stod(argv[1]) : 1;
    int lines = static_cast<int>(megabytes * 10000);
    std::string line(99, 'x');
    for (int number = 0; number < lines; number++) {
        std::cout << line << '\n';
    }
    std::cout << "last line " << lines << std::endl;  // @end
}
