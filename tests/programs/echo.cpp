// Echoes its standard input line by line, and counts the lines.

#include <iostream>
#include <string>

int main() {
    std::string line;
    int count = 0;
    std::cout << "ready" << std::endl;
    while (std::getline(std::cin, line)) {
        count += 1;
        std::cout << "heard " << line << std::endl;  // @line
    }
    std::cout << "lines " << count << "\n";  // @eof
}
