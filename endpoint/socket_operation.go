package endpoint

import (
	"context"
	"sync"
	"time"

	"github.com/vektah/gqlparser/v2/gqlerror"
)

// subscribe starts an operation of any kind, when the one before has begun. It returns false when the socket is
// closed.
func (s *socket) subscribe(m message) bool {
	asked, problem := parseSubscribe(m)
	if problem != "" {
		return s.reject(problem)
	}
	if !s.ready {
		s.close(closeUnauthorized, "Unauthorized")
		return false
	}
	select {
	case s.starting <- struct{}{}:
	default:
		s.lagged.Store(true)
		select {
		case s.starting <- struct{}{}:
		case <-s.ctx.Done():
			return true
		}
	}
	id := m.text("id")
	ctx, cancel := context.WithCancel(s.ctx)
	so := &socketOperation{id: id, name: asJSON(id), cancel: cancel}

	s.mu.Lock()
	_, inUse := s.operations[id]
	full := len(s.operations) >= s.streams.limits.Operations
	started := !inUse && !full && !s.stopping
	if started {
		s.operations[id] = so
		s.running.Go(func() { s.run(ctx, so, asked) })
	}
	s.mu.Unlock()
	if !started {
		cancel()
		<-s.starting
	}
	switch {
	case inUse:
		s.close(closeIDInUse, "Subscriber for "+cutReason(id)+" already exists")
		return false
	case full:
		refused := overLimit(codeOperationLimit, "operations", s.streams.limits.Operations+1, s.streams.limits.Operations)
		refused.message = "too many operations on this socket: complete one"
		op := s.exec.receive(s.ctx, OverSocket)
		op.end(Refused, refused.code, 0)
		s.write(typeError, so.name, asJSON(refused.response(op).Errors))
	}
	return true
}

// forget ends an operation that the client completed. Its id can be used again.
func (s *socket) forget(id string) {
	s.mu.Lock()
	so := s.operations[id]
	delete(s.operations, id)
	s.mu.Unlock()
	if so != nil {
		so.end()
	}
}

// forgetAll ends the operations of a socket that is closed.
func (s *socket) forgetAll() {
	s.mu.Lock()
	all := s.operations
	s.operations = nil
	s.mu.Unlock()
	for _, so := range all {
		so.end()
	}
}

// end cancels an operation, and closes a subscription.
func (so *socketOperation) end() {
	so.cancel()
	if so.sub != nil {
		so.sub.close()
	}
}

// run executes an operation and sends its response. A subscription's events are sent by send.
func (s *socket) run(ctx context.Context, so *socketOperation, asked *request) {
	begun := sync.OnceFunc(func() { <-s.starting })
	defer begun()
	op := s.exec.receive(ctx, OverSocket)
	op.read()
	defer op.end(Refused, codeInternal, 0) // if it panics
	defer s.recovered(so, op)
	refused := s.start(so, op, asked)
	switch {
	case refused != nil:
		errs := refused.response(op).Errors
		op.end(Refused, firstCode(errs), 0)
		s.fail(so, errs)
	case !op.subscribes():
		begun()
		f := op.run(s.timeout)
		defer op.sent()
		op.responds(f, len(f.plain.body))
		s.respond(so, f.plain.body)
	}
}

// recovered ends an operation that panicked.
func (s *socket) recovered(so *socketOperation, op *operation) {
	if cause := recover(); cause != nil {
		logPanic(op.ctx, s.log, cause)
		refused := &refusal{code: codeInternal, message: "internal error"}
		s.fail(so, refused.response(op).Errors)
	}
}

// start prepares and charges an operation, and begins a subscription.
func (s *socket) start(so *socketOperation, op *operation, asked *request) (refused *refusal) {
	s.streams.turns.do(ViewerOf(op.ctx).Network(), func(*turn) {
		if refused = op.prepare(asked, s.request.Header); refused == nil && op.subscribes() {
			refused = s.streams.admit(op, 0)
		}
	})
	switch {
	case refused != nil:
		return s.meter.chargeRefused(op, refused)
	case !op.subscribes():
		return s.meter.charge(op)
	}
	refused = s.streams.begins(op.ctx, s.timeout, func() *refusal {
		refused := s.meter.charge(op)
		if refused == nil {
			s.watch(so, op)
		}
		return refused
	})
	if refused != nil {
		s.streams.dismiss(op)
	}
	return refused
}

// watch begins a subscription.
func (s *socket) watch(so *socketOperation, op *operation) {
	sub := s.streams.begin(op)
	op.begun(sub)
	if sub.watch == nil {
		sub.close()
		if sub.first != nil {
			s.respond(so, appendResponse(nil, sub.first))
		}
		return
	}
	s.mu.Lock()
	current := s.operations[so.id] == so
	if current {
		so.sub = sub
	}
	s.mu.Unlock()
	if !current { // the client has completed it
		sub.close()
		return
	}
	sub.watch.OnWake(func() { s.wake(so) })
}

// respond sends the only response of an operation.
func (s *socket) respond(so *socketOperation, body []byte) {
	s.finish(so, func() {
		s.writeLocked(typeNext, so.name, body)
		s.writeLocked(typeComplete, so.name, nil)
	})
}

// fail says that an operation did not run. It is the only message about it.
func (s *socket) fail(so *socketOperation, errs gqlerror.List) {
	s.finish(so, func() { s.writeLocked(typeError, so.name, asJSON(errs)) })
}

// finish ends an operation with its last messages, unless it has ended.
func (s *socket) finish(so *socketOperation, last func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	so.cancel()
	if s.operations[so.id] != so {
		return
	}
	delete(s.operations, so.id)
	if so.sub != nil {
		go so.sub.close() // it waits for events that are being sent
	}
	last()
}

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
