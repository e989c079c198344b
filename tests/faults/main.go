// Command faults runs several processes of Frontpage against Redis under a seeded schedule of faults, several at
// once, and then compares each acknowledged operation and each watcher with the store:
//
//	go run ./tests/faults -seed 7 -for 20s
//	go run ./tests/faults -seed 7 -for 20s -cluster
//
// The second form runs them against a Redis Cluster, whose nodes are killed, paused, replaced and emptied of a partition.
// A seed reproduces the schedule, though not the exact interleaving of requests. Exit code 1 means that a rule was
// violated; the output names the rule and what happened to the article. It needs redis-server on PATH.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"frontpage/tests/redistest"
)

const (
	processes = 3
	clients   = 30
	watchers  = 6
	consumers = 2
	perSecond = 10              // posts: fewer than 100 during the longest outage of one process, as watchers can catch up with those
	recovery  = 5 * time.Minute // how long after the last fault everything may take to be right again
	maxFiles  = 150             // open files and sockets of an idle server, for each server of Redis
)

//go:embed testdata/clock.c
var clockSource []byte

func main() {
	seed := flag.Uint64("seed", 1, "seed of the schedule")
	lasts := flag.Duration("for", 20*time.Second, "time during which faults happen")
	cluster := flag.Bool("cluster", false, "run against a Redis Cluster")
	race := flag.Bool("race", false, "build the servers with the race detector")
	keep := flag.Bool("keep", false, "keep the folder with the logs")
	flag.Parse()
	folder, err := os.MkdirTemp("", "faults")
	if err == nil {
		err = run(folder, *seed, *lasts, *cluster, *race)
	}
	if *keep || err != nil {
		fmt.Fprintln(os.Stderr, "logs are in", folder)
	} else {
		_ = os.RemoveAll(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder string, seed uint64, lasts time.Duration, cluster, race bool) error {
	program := filepath.Join(folder, "frontpage")
	build := exec.Command("go", "build", fmt.Sprintf("-race=%v", race), "-o", program, "frontpage")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build frontpage: %w\n%s", err, out)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := &world{ctx: ctx, site: &site{history: newHistory(), posts: time.Tick(time.Second / perSecond),
		http: &http.Client{Timeout: 15 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: clients}}}}
	redis.SetLogger(silence{}) // a failed dial is what a fault wants
	start := w.startRedis
	if cluster {
		start = w.startCluster
	}
	stop, err := start(folder)
	if err != nil {
		return err
	}
	defer stop()
	if err := w.addServers(folder, program, seed); err != nil {
		return err
	}

	faults := w.available()
	slices.Sort(faults)
	events := schedule(seed, lasts, faults)
	fmt.Fprintf(os.Stderr, "seed %d: %d faults of %d kinds in %v\n", seed, len(events), len(faults), lasts)
	for _, e := range events {
		fmt.Fprintln(os.Stderr, e)
	}
	return w.play(events, lasts, seed, program)
}

// startRedis starts a single Redis.
func (w *world) startRedis(folder string) (stop func(), err error) {
	if err := w.wrapRedis(folder); err != nil {
		return nil, err
	}
	// The servers are not the default user: Redis loads its file with that one's rights, and drops what it may not do.
	w.redis, err = redistest.Open("--auto-aof-rewrite-percentage", "0", "--user", "control", "on", ">control", "~*", "&*", "+@all",
		"--user", "site", "on", ">site", "~*", "&*", "+@all")
	if err != nil {
		return nil, err
	}
	w.control = redis.NewClient(&redis.Options{Network: "unix", Addr: w.redis.Socket(), Username: "control", Password: "control",
		ReadTimeout: 30 * time.Second, DialerRetries: 1})
	return w.redis.Close, nil
}

// startCluster starts a Redis Cluster.
func (w *world) startCluster(string) (stop func(), err error) {
	tb := &outsideTest{}
	w.cluster = redistest.StartCluster(tb, "--user", "site", "on", ">site", "~*", "&*", "+@all")
	return tb.end, nil
}

// outsideTest is what redistest needs of a test.
type outsideTest struct {
	testing.TB
	cleanups []func()
}

func (*outsideTest) Helper() {}

func (t *outsideTest) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *outsideTest) Fatal(args ...any) {
	fmt.Fprintln(os.Stderr, args...)
	t.end()
	os.Exit(1)
}

func (t *outsideTest) Fatalf(format string, args ...any) { t.Fatal(fmt.Sprintf(format, args...)) }

func (t *outsideTest) end() {
	for _, f := range slices.Backward(t.cleanups) {
		f()
	}
}

// redises are the servers of Redis.
func (w *world) redises() []*redistest.Server {
	if w.cluster != nil {
		return w.cluster.Nodes
	}
	return []*redistest.Server{w.redis}
}

// addServers adds the servers of the site, which reach Redis through proxies. They are not started yet.
func (w *world) addServers(folder, program string, seed uint64) error {
	for i := range processes {
		name := string(rune('A' + i))
		p, err := newProxy(w.ctx, w.redises(), seed+uint64(i))
		if err != nil {
			return err
		}
		log, err := os.Create(filepath.Join(folder, name+".log"))
		if err != nil {
			return err
		}
		s := &server{program: program, name: name, proxy: p, log: log, history: w.history}
		s.hold()()
		w.servers = append(w.servers, s)
	}
	return nil
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// wrapRedis has Redis started with a clock that can be stepped, if there is a C compiler, and so that a write beyond
// the limit of its files is an error and does not end it.
func (w *world) wrapRedis(folder string) error {
	library, source, clock := filepath.Join(folder, "clock.so"), filepath.Join(folder, "clock.c"), filepath.Join(folder, "clock")
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return err
	}
	preload := ""
	if exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", library, source).Run() == nil {
		file, err := os.Create(clock)
		if err != nil {
			return err
		}
		w.clock = file
		w.step(0)
		preload = fmt.Sprintf("FAULTS_CLOCK='%s' LD_PRELOAD='%s' ", clock, library)
	}
	redis, err := exec.LookPath("redis-server")
	if err != nil {
		return err
	}
	wrapper := filepath.Join(folder, "bin", "redis-server")
	if err := os.Mkdir(filepath.Dir(wrapper), 0o700); err != nil {
		return err
	}
	script := fmt.Sprintf("#!/bin/sh\ntrap '' XFSZ\n%sexec '%s' \"$@\"\n", preload, redis)
	if err := os.WriteFile(wrapper, []byte(script), 0o700); err != nil {
		return err
	}
	return os.Setenv("PATH", filepath.Dir(wrapper)+":"+os.Getenv("PATH"))
}

// play runs servers, clients, watchers and faults, and then compares.
func (w *world) play(events []event, lasts time.Duration, seed uint64, program string) error {
	var servers, users, following sync.WaitGroup
	serving, stopServers := context.WithCancel(w.ctx)
	for _, s := range w.servers {
		servers.Go(func() { s.run(serving) })
	}
	defer func() {
		stopServers()
		for _, s := range w.servers {
			s.signal(syscall.SIGTERM)
		}
		servers.Wait()
	}()
	for _, s := range w.servers {
		for s.address() == "" {
			pause(w.ctx, 10*time.Millisecond)
		}
	}

	acting, stop := context.WithCancel(w.ctx)
	end, giveUp := context.WithCancel(w.ctx)
	defer giveUp()
	for i := range clients {
		c := &client{site: w.site, name: fmt.Sprintf("c%d", i), random: rand.New(rand.NewPCG(seed, uint64(100+i))), settled: map[register]bool{}}
		c.post(end)
		c.post(end)
		users.Go(func() { c.run(acting, end) })
	}
	var ids []int
	for _, a := range w.known {
		ids = append(ids, a.id)
	}
	watching, leave := context.WithCancel(w.ctx)
	defer leave()
	var all []*watcher
	for i := range watchers {
		watcher := &watcher{site: w.site, server: w.servers[i%processes], name: fmt.Sprint(i), ids: ids}
		following.Go(func() { watcher.run(watching) })
		all = append(all, watcher)
	}
	var feeds []*consumer
	for i := range consumers {
		c := &consumer{site: w.site, name: fmt.Sprint(i), random: rand.New(rand.NewPCG(seed, uint64(200+i))), acted: map[happened]int{},
			stored: progress{last: map[int]int{}}}
		following.Go(func() { c.run(watching) })
		feeds = append(feeds, c)
	}
	w.inject(events, lasts)
	stop()
	calm := w.history.now()
	time.AfterFunc(recovery, giveUp)
	users.Wait()

	url, control, partitions := "", redis.UniversalClient(w.control), []string{""}
	if w.cluster != nil {
		url, control, partitions = w.cluster.URL(), w.cluster.Client, tags
	} else {
		url = "unix://control:control@" + w.redis.Socket()
	}
	store, err := load(w.ctx, control, partitions)
	if err != nil {
		return err
	}
	w.history.compare(store)
	changes, err := feed(w.ctx, control, partitions)
	if err != nil {
		return err
	}
	w.history.compareFeed(store, changes)
	settling, settled := context.WithTimeout(w.ctx, recovery)
	defer settled()
	w.compareServers(settling, store)
	stale, missed := w.compareWatchers(settling, all, store)
	unseen := w.compareConsumers(settling, feeds, changes)
	w.history.check(program, url)
	right := w.history.now()
	leave()
	following.Wait()
	w.http.CloseIdleConnections()
	var notified int64
	for _, watcher := range all {
		notified += watcher.events.Load()
	}
	fmt.Fprintf(os.Stderr, "%v\n%d articles, %d registers; watchers: %d events, %d stale, %d missed; compared within %.1f s\n", &w.counts, len(store), len(w.history.writes), notified, stale, missed, (right - calm).Seconds())
	kills, gaps, repeated := 0, 0, 0
	for _, c := range feeds {
		kills, gaps = kills+c.kills, gaps+c.gaps
		for _, n := range c.acted {
			repeated += n - 1
		}
	}
	fmt.Fprintf(os.Stderr, "%d events in the feed; consumers: %d kills, %d gaps, %d events again, %d missed\n", len(changes), kills, gaps, repeated, unseen)
	for _, s := range w.servers {
		fmt.Fprintf(os.Stderr, "server %s: %d open files, %s\n", s.name, s.descriptors(), s.memory())
		if n, most := s.descriptors(), maxFiles*len(w.redises()); n > most {
			w.history.fail("an idle server has few open files", "%d are allowed. Server %s has %d", most, s.name, n)
		}
	}
	return w.history.verdict(seed)
}

// inject lets each event happen, and returns when all of them have ended.
func (w *world) inject(events []event, lasts time.Duration) {
	began := time.Now()
	var active sync.WaitGroup
	for _, e := range events {
		active.Go(func() {
			pause(w.ctx, time.Until(began.Add(e.at)))
			defer w.history.during(e)()
			end := faults[e.fault](w, e)
			pause(w.ctx, time.Until(began.Add(e.ends())))
			end()
		})
	}
	active.Wait()
	pause(w.ctx, time.Until(began.Add(lasts)))
}

// verdict reports the violated rules, each with some examples. It is an error if there are any.
func (h *history) verdict(seed uint64) error {
	const examples = 3
	count := map[string]int{}
	for _, p := range h.problems {
		if count[p.rule]++; count[p.rule] <= examples {
			fmt.Fprintf(os.Stderr, "VIOLATION of the rule that %s:\n%s\n", p.rule, p.text)
		}
	}
	for rule, n := range count {
		fmt.Fprintf(os.Stderr, "%d violations of the rule that %s\n", n, rule)
	}
	if n := len(h.problems); n > 0 {
		return fmt.Errorf("seed %d: %d violations", seed, n)
	}
	fmt.Fprintf(os.Stderr, "seed %d: no violation\n", seed)
	return nil
}
