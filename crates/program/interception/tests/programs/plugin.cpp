// A library that a program in C loads: it brings the library of C++ with it. The program finds it beside itself.
#include <dlfcn.h>

#ifdef PLUGIN
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" int work(int count)
{
	std::vector<std::string> texts;

	for (int at = 0; at < count; at++)
		texts.push_back(std::string(100, 'a'));
	try {
		volatile size_t huge = ~size_t(0) / 4;
		char *volatile block = new char[huge];
		delete[] block;
	} catch (const std::bad_alloc &) {
		return (int)texts.size();
	}
	return -1;
}
#else
extern "C" int puts(const char *);

int main(int, char **words)
{
	void *plugin = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
	int (*work)(int) = plugin ? (int (*)(int))dlsym(plugin, "work") : nullptr;

	for (int round = 0; round < 10; round++)
		if (!work || work(50) != 50)
			return 1;
	dlclose(plugin);
	puts("done");
	return 0;
}
#endif
