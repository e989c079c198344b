package endpoint

import (
	"bytes"
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// subscribe starts an operation of any kind. It returns false when it had to
// close the socket.
func (s *socket) subscribe(m message, ready bool) bool {
	var asked request
	id := m.text("id")
	if id == "" || !decode(bytes.NewReader(m["payload"]), &asked) {
		s.close(closeBadRequest, "Invalid message: subscribe has an id, and a payload with query, operationName, variables and extensions of the right types")
		return false
	}
	params, why := asked.params(s.request.Header)
	if why != nil {
		s.close(closeBadRequest, "Invalid message: "+why.message)
		return false
	}
	if !ready {
		s.close(closeUnauthorized, "Unauthorized")
		return false
	}
	ctx, cancel := context.WithCancel(s.ctx)
	r := &running{id: id, name: asJSON(id), cancel: cancel}

	s.mu.Lock()
	_, inUse := s.live[r.id]
	full := len(s.live) >= s.streams.limits.Operations
	if !inUse && !full && !s.left {
		s.live[r.id] = r
		s.running.Go(func() { s.run(ctx, r, params) })
	}
	s.mu.Unlock()
	switch {
	case inUse:
		cancel()
		s.close(closeIDInUse, "Subscriber for "+cutReason(id)+" already exists")
		return false
	case full:
		cancel()
		why := overLimit(codeOperationLimit, "operations", s.streams.limits.Operations+1, s.streams.limits.Operations)
		why.message = "there are too many operations on this socket: complete one"
		s.write(typeError, r.name, asJSON(s.exec.DispatchError(s.ctx, why.list()).Errors))
	}
	return true
}

// forget ends an operation because the client has completed it. Its id is free.
func (s *socket) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.live[id]; r != nil {
		r.cancel()
		delete(s.live, id)
	}
}

// run answers an operation.
func (s *socket) run(ctx context.Context, r *running, params *graphql.RawParams) {
	defer r.cancel()
	defer func() {
		if cause := recover(); cause != nil {
			_ = recovered(s.log)(ctx, cause)
			why := &refused{code: codeInternal, message: "internal error"}
			s.fail(r, s.exec.DispatchError(ctx, why.list()).Errors)
		}
	}()
	run, _ := prepare(ctx, s.exec, params)
	_ = s.meter.charge(run)
	if run.answer != nil {
		s.fail(r, run.answer.Errors)
		return
	}
	if run.subscribes() {
		s.watch(r, run)
		return
	}
	_ = run.once(s.timeout)
	s.answer(r, run.answer)
}

// answer shows the only answer of an operation.
func (s *socket) answer(r *running, answer *graphql.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[r.id] == r {
		delete(s.live, r.id)
		s.writeLocked(typeNext, r.name, appendResponse(nil, answer))
		s.writeLocked(typeComplete, r.name, nil)
	}
}

// watch shows the events of a subscription until it ends.
func (s *socket) watch(r *running, run *operation) {
	sub := s.streams.begin(run)
	defer sub.close()
	if sub.watch == nil {
		if sub.first != nil {
			s.answer(r, sub.first)
		}
		return
	}
	for {
		select {
		case <-sub.ctx.Done():
			return
		case <-s.streams.stopping.Done():
			return
		case <-sub.watch.Wake():
			if !s.show(r, sub) {
				return
			}
		}
	}
}

// show sends the events that there are now, in one write, when the client has
// taken in what was sent before. It returns false when there is nothing more to
// show.
func (s *socket) show(r *running, sub *subscription) bool {
	select {
	case <-s.turn:
	case <-sub.ctx.Done():
		return false
	case <-s.streams.stopping.Done():
		return false
	}
	events := sub.take()
	size, going := s.send(r, sub, events)
	done(events)
	s.flow(size)
	return going
}

func (s *socket) send(r *running, sub *subscription, events []event) (size int, going bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[r.id] != r || s.left {
		return 0, false
	}
	if len(events) == 0 {
		return 0, true
	}
	s.bounded.hold()
	for i := range events {
		// Other answers on this socket may have told more since it was made.
		if body := sub.renew(&events[i]); body != nil {
			s.writeLocked(typeNext, r.name, body)
			size += len(body)
		}
	}
	if s.bounded.release() != nil {
		s.end()
	}
	return size, true
}

// window is how much of events may be on its way to a client, bytes.
const window = 2 << 10

// flow keeps events from queueing on the way to a slow client, where they would
// grow old: behind a window full of them goes a ping, and no more are sent until
// the client has answered it and had as long again for other things. What
// changes meanwhile is sent in its last state.
func (s *socket) flow(size int) {
	if s.unconfirmed += size; s.unconfirmed < window {
		s.turn <- struct{}{}
		return
	}
	go func() {
		began := time.Now()
		if s.pong() {
			s.unconfirmed = 0
			time.AfterFunc(min(time.Since(began), time.Second), func() { s.turn <- struct{}{} })
		}
	}()
}

// fail says that an operation did not run. It is the only message about it.
func (s *socket) fail(r *running, errs gqlerror.List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[r.id] == r {
		delete(s.live, r.id)
		s.writeLocked(typeError, r.name, asJSON(errs))
	}
}
