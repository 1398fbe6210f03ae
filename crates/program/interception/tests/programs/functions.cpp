// Functions of the heap and of locks in ways that a library in front of them may break; prints the same in every run.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <condition_variable>
#include <chrono>
#include <new>
#include <pthread.h>
#include <shared_mutex>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static volatile size_t huge = ~size_t(0) / 4;

struct Early {
	std::string text;
	Early() : text(std::string(100, 'e')) {}
};
static Early early;

static int thrown()
{
	int caught = 0;

	for (int round = 0; round < 3; round++) {
		try {
			std::unique_ptr<char[]> block(new char[huge]);
			block[0] = 1;
		} catch (const std::bad_alloc &) {
			caught++;
		}
	}
	return caught;
}

static void unlock(void *)
{
	pthread_mutex_unlock(&mutex);
}

static void *waits_for_ever(void *)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, nullptr);
	for (;;)
		pthread_cond_wait(&news, &mutex);
	pthread_cleanup_pop(0);
	return nullptr;
}

static bool cancelled()
{
	pthread_t thread;
	void *result = nullptr;

	pthread_create(&thread, nullptr, waits_for_ever, nullptr);
	usleep(20000);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	return result == PTHREAD_CANCELED && pthread_mutex_trylock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0;
}

static bool waits_in_time()
{
	std::mutex own;
	std::condition_variable told;
	std::unique_lock<std::mutex> held(own);
	bool done = false;
	std::thread other([&] {
		std::lock_guard<std::mutex> lock(own);
		done = true;
		told.notify_one();
	});
	bool seen = told.wait_for(held, std::chrono::seconds(10), [&] { return done; });

	held.unlock();
	other.join();
	return seen;
}

static volatile sig_atomic_t handled;

static void allocates_in_handler(int)
{
	// Not allowed in general; here the thread is in sigsuspend(2) or computes.
	free(malloc(30));
	handled = handled + 1;
}

static size_t children()
{
	size_t good = 0;

	for (int round = 0; round < 8; round++) {
		pid_t child = fork();

		if (child == 0) {
			std::vector<std::string> texts;
			for (int at = 0; at < 1000; at++)
				texts.push_back(std::string(at % 90, 'x'));
			std::thread other([&] { texts.clear(); });
			other.join();
			_exit(texts.empty() ? 0 : 1);
		}
		int status = -1;
		waitpid(child, &status, 0);
		good += status == 0;
	}
	return good;
}

static size_t many_threads()
{
	std::vector<std::thread> threads;
	std::shared_mutex table;
	size_t sum = 0;

	for (int number = 0; number < 8; number++)
		threads.emplace_back([&, number] {
			for (int round = 0; round < 3000; round++) {
				std::string text(round % 200, char('a' + number));
				void *block = aligned_alloc(64, 128);
				block = realloc(block, 500);
				free(block);
				if (round % 16 == 0) {
					std::unique_lock<std::shared_mutex> lock(table);
					sum += text.size();
				} else {
					std::shared_lock<std::shared_mutex> lock(table);
				}
			}
		});
	for (auto &thread : threads)
		thread.join();
	return sum;
}

int main()
{
	void *later = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);

	std::printf("opened %d, absent %d\n", later != nullptr, dlsym(later, "no_such_function") != nullptr);
	std::printf("message %d\n", dlerror() != nullptr);
	std::printf("early %zu\n", early.text.size());
	std::printf("thrown %d\n", thrown());
	std::printf("cancelled %d\n", cancelled());
	std::printf("in time %d\n", waits_in_time());
	signal(SIGUSR1, allocates_in_handler);
	raise(SIGUSR1);
	std::printf("handled %d\n", (int)handled);
	std::printf("children %zu\n", children());
	std::printf("threads %zu\n", many_threads());
	std::printf("no size %d, no block %d\n", realloc(malloc(3), 0) == nullptr, (free(nullptr), 1));
	std::printf("duplicate %s\n", std::unique_ptr<char, decltype(&free)>(strdup("text"), free).get());
	return 0;
}
