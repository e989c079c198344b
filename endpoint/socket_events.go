package endpoint

import "time"

// wake has the pending events of a subscription sent. It returns at once.
func (s *socket) wake(so *socketOperation) {
	s.wakes.Lock()
	defer s.wakes.Unlock()
	if so.queued {
		return
	}
	so.queued = true
	s.waiting = append(s.waiting, so)
	if !s.sending {
		s.sending = true
		go s.streams.turns.do(ViewerOf(s.ctx).Network(), s.send)
	}
}

// send sends pending events of one subscription.
func (s *socket) send(k *turn) {
	s.wakes.Lock()
	so := s.waiting[0]
	s.waiting = s.waiting[1:]
	so.queued = false
	s.wakes.Unlock()
	size, more := s.sendEvents(so, k)
	if more {
		s.wake(so)
	}
	s.yield(size)
}

// sendEvents sends events in one write. It returns how many bytes they are, and whether more are pending.
func (s *socket) sendEvents(so *socketOperation, k *turn) (size int, more bool) {
	sub := so.sub
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.closed || sub.ctx.Err() != nil {
		return 0, false
	}
	defer s.recovered(so, sub.operation)
	events, more := sub.take(k)
	defer done(events)
	return s.writeEvents(so, sub, events, k), more
}

func (s *socket) writeEvents(so *socketOperation, sub *subscription, events []event, k *turn) (size int) {
	k.wait(s.mu.Lock) // another message may be being written
	defer s.mu.Unlock()
	if s.operations[so.id] != so || s.stopping || len(events) == 0 {
		return 0
	}
	s.bounded.hold()
	sent := 0
	for i := range events {
		// A response sent on this socket after the event was made may have shown a newer state.
		if body := sub.renew(&events[i], k); body != nil {
			s.writeLocked(typeNext, so.name, body)
			size += len(body)
			sent++
		}
	}
	s.streams.sent.add(OverSocket, sent, size)
	k.rest()
	if s.bounded.release() != nil {
		s.end()
	}
	return size
}

// window is how many bytes of events may be on their way to a client.
const window = 2 << 10

// yield ends the socket's turn. It keeps events from queueing on the way to a slow client, where they would
// become outdated: after a window full of them it sends a ping, waits for the pong, and then as long again, up to
// 1 s, so that other messages get through. What changes meanwhile is sent in its last state.
func (s *socket) yield(size int) {
	if s.unconfirmed += size; s.unconfirmed < window {
		s.again()
		return
	}
	go func() {
		began := time.Now()
		if s.pong() {
			s.unconfirmed = 0
			time.AfterFunc(min(time.Since(began), time.Second), s.again)
		}
	}()
}

// again waits for the socket's next turn, if events are pending.
func (s *socket) again() {
	s.wakes.Lock()
	defer s.wakes.Unlock()
	if s.sending = len(s.waiting) > 0; s.sending {
		go s.streams.turns.do(ViewerOf(s.ctx).Network(), s.send)
	} else {
		s.waiting = nil
	}
}
