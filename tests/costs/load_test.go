package costs_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"frontpage/tests/programtest"
)

// votes casts votes of others, one after another, until stop, and returns how long each took.
func (m *meter) votes(stop <-chan struct{}) (took []time.Duration) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			slices.Sort(took)
			return took
		default:
		}
		r := request{user: fmt.Sprint("voter", time.Now().UnixNano()), query: query{Query: "mutation($id: ID!) { vote(input: {article: $id}) { changed } }", Variables: map[string]any{"id": *articles - i%100}}}
		began := time.Now()
		status, _, _ := m.send(r)
		took = append(took, time.Since(began))
		if status != http.StatusOK {
			m.t.Errorf("a vote of another user: got status %d, want 200: %s", status, m.body)
		}
	}
}

// attack has connections of one address send requests, one after another, until stop. It returns how many were answered.
func (m *meter) attack(stop <-chan struct{}, connections int, next func(i int) request) (answers *sync.Map, wait func()) {
	client := from("127.0.0.2")
	answers = new(sync.Map)
	var n atomic.Int64
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				res, err := client.Do(next(int(n.Add(1))).of(m.t, m.url))
				if err != nil {
					continue // the connection was refused
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
				count, _ := answers.LoadOrStore(res.StatusCode, new(atomic.Int64))
				count.(*atomic.Int64).Add(1)
			}
		})
	}
	return answers, all.Wait
}

// beside attacks for a while, and returns how long 99 of 100 votes of others take meanwhile.
func (m *meter) beside(name string, during time.Duration, connections int, next func(i int) request) time.Duration {
	stop := make(chan struct{})
	answers, wait := m.attack(stop, connections, next)
	server, redis := programtest.CPU(m.t, m.server), programtest.CPU(m.t, m.redis)
	time.AfterFunc(during, func() { close(stop) })
	took := m.votes(stop)
	wait()
	counts := map[any]int64{}
	answers.Range(func(status, n any) bool { counts[status] = n.(*atomic.Int64).Load(); return true })
	percent := func(used time.Duration) float64 { return 100 * float64(used) / float64(during) }
	m.t.Logf("beside %s: %d votes, p50 %v, p90 %v, p99 %v, slowest %v; answers by status %v; CPU of the server %.0f %%, of Redis %.0f %%", name,
		len(took), took[len(took)/2], took[len(took)*9/10], took[len(took)*99/100], took[len(took)-1], counts, percent(programtest.CPU(m.t, m.server)-server), percent(programtest.CPU(m.t, m.redis)-redis))
	return took[len(took)*99/100]
}
