package program_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"frontpage/redistest"
)

func TestVoteOnOneServerReachesWatchersOfAnother(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	here, there := start(t, "REDIS_URL="+redis.URL()), start(t, "REDIS_URL="+redis.URL())
	if answer := here.ask(`mutation { post(input: {title: "t", text: "x"}) { article { id } } }`); !strings.Contains(answer, "article:1") {
		t.Fatalf("post: %s", answer)
	}
	events := here.events(`subscription { articleChanged(ids: ["article:1"]) { votes } }`)
	socket := here.socket("subscription { articleChanged(ids: [1]) { votes } }")
	// The test cannot see when the two subscriptions begin, so it votes until both have an event.
	arrived := make(chan string, 2)
	go func() {
		for events.Scan() {
			if data, ok := strings.CutPrefix(events.Text(), "data: "); ok {
				arrived <- data
				return
			}
		}
		arrived <- "the stream ended"
	}()
	go func() {
		_, message, err := socket.Read(t.Context())
		if err != nil {
			message = []byte(err.Error())
		}
		arrived <- string(message)
	}()
	for direction, left := "NONE", 2; left > 0; {
		there.ask(`mutation { vote(input: {article: 1, direction: ` + direction + `}) { changed } }`)
		direction = map[string]string{"NONE": "UP", "UP": "NONE"}[direction]
		select {
		case got := <-arrived:
			left--
			if !strings.Contains(got, `{"data":{"articleChanged":{"votes":`) {
				t.Fatalf("the watcher received %s, want an event", got)
			}
		default:
		}
	}
}

func TestShutdownEndsOpenStreams(t *testing.T) {
	t.Parallel()
	s := start(t, "REDIS_URL="+redistest.Start(t).URL())
	events := s.events(`subscription { articlePosted { node { id } } }`)
	socket := s.socket("subscription { articlePosted { node { id } } }")
	ended := make(chan error, 1)
	go func() {
		_, message, err := socket.Read(t.Context())
		if err == nil {
			err = errors.New("unexpected message: " + string(message))
		}
		ended <- err
	}()
	log := s.Stop()
	if err := <-ended; websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("the WebSocket ended with %v, want status 1001 (going away)", err)
	}
	var rest strings.Builder
	for events.Scan() {
		rest.WriteString(events.Text())
	}
	if err := events.Err(); err != nil && !errors.Is(err, io.EOF) || strings.Contains(rest.String(), "complete") {
		t.Errorf("the event stream ended with %v after %q, want a plain end without complete", err, rest.String())
	}
	if !strings.Contains(log, "msg=stopped") || strings.Contains(log, "cut off") {
		t.Errorf("the log is not that of a clean stop: %s", log)
	}
}
