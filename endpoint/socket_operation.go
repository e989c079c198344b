package endpoint

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// subscribe starts an operation of any kind. It returns false when the socket is closed.
func (s *socket) subscribe(m message) bool {
	params, problem := parseSubscribe(m, s.request.Header)
	if problem != "" {
		return s.reject(problem)
	}
	if !s.ready {
		s.close(closeUnauthorized, "Unauthorized")
		return false
	}
	id := m.text("id")
	ctx, cancel := context.WithCancel(s.ctx)
	so := &socketOperation{id: id, name: asJSON(id), cancel: cancel}

	s.mu.Lock()
	_, inUse := s.operations[id]
	full := len(s.operations) >= s.streams.limits.Operations
	if !inUse && !full && !s.stopping {
		s.operations[id] = so
		s.running.Go(func() { s.run(ctx, so, params) })
	}
	s.mu.Unlock()
	switch {
	case inUse:
		cancel()
		s.close(closeIDInUse, "Subscriber for "+cutReason(id)+" already exists")
		return false
	case full:
		cancel()
		refused := overLimit(codeOperationLimit, "operations", s.streams.limits.Operations+1, s.streams.limits.Operations)
		refused.message = "too many operations on this socket: complete one"
		s.write(typeError, so.name, asJSON(s.exec.DispatchError(s.ctx, refused.list()).Errors))
	}
	return true
}

// forget ends an operation that the client completed. Its id can be used again.
func (s *socket) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if so := s.operations[id]; so != nil {
		so.cancel()
		delete(s.operations, id)
	}
}

// run executes an operation and sends its responses.
func (s *socket) run(ctx context.Context, so *socketOperation, params *graphql.RawParams) {
	defer so.cancel()
	op := &operation{exec: s.exec, ctx: ctx}
	defer func() {
		if cause := recover(); cause != nil {
			logPanic(op.ctx, s.log, cause)
			refused := &refusal{code: codeInternal, message: "internal error"}
			s.fail(so, refused.response(op).Errors)
		}
	}()
	refused := op.prepare(params)
	if refused == nil {
		refused = s.meter.charge(op)
	}
	switch {
	case refused != nil:
		s.fail(so, refused.response(op).Errors)
	case op.subscribes():
		s.watch(so, op)
	default:
		if refused = op.once(s.timeout); refused != nil {
			op.response = refused.response(op)
		}
		s.respond(so, op.response)
	}
}

// respond sends the only response of an operation.
func (s *socket) respond(so *socketOperation, response *graphql.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.operations[so.id] == so {
		delete(s.operations, so.id)
		s.writeLocked(typeNext, so.name, appendResponse(nil, response))
		s.writeLocked(typeComplete, so.name, nil)
	}
}

// fail says that an operation did not run. It is the only message about it.
func (s *socket) fail(so *socketOperation, errs gqlerror.List) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.operations[so.id] == so {
		delete(s.operations, so.id)
		s.writeLocked(typeError, so.name, asJSON(errs))
	}
}

// watch sends the events of a subscription until it ends.
func (s *socket) watch(so *socketOperation, op *operation) {
	sub := s.streams.begin(op)
	defer sub.close()
	if sub.watch == nil {
		if sub.first != nil {
			s.respond(so, sub.first)
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
			if !s.sendEvents(so, sub) {
				return
			}
		}
	}
}

// sendEvents sends the pending events in one write, once the client has received the previous ones. It returns
// false when the subscription has ended.
func (s *socket) sendEvents(so *socketOperation, sub *subscription) bool {
	select {
	case <-s.turn:
	case <-sub.ctx.Done():
		return false
	case <-s.streams.stopping.Done():
		return false
	}
	events := sub.take()
	size, ok := s.writeEvents(so, sub, events)
	done(events)
	s.yield(size)
	return ok
}

func (s *socket) writeEvents(so *socketOperation, sub *subscription, events []event) (size int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.operations[so.id] != so || s.stopping {
		return 0, false
	}
	if len(events) == 0 {
		return 0, true
	}
	s.bounded.hold()
	for i := range events {
		// A response sent on this socket after the event was made may have shown a newer state.
		if body := sub.renew(&events[i]); body != nil {
			s.writeLocked(typeNext, so.name, body)
			size += len(body)
		}
	}
	if s.bounded.release() != nil {
		s.end()
	}
	return size, true
}

// window is how many bytes of events may be on their way to a client.
const window = 2 << 10

// yield lets the next subscription send events. It keeps events from queueing on the way to a slow client, where
// they would become outdated: after a window full of them it sends a ping, waits for the pong, and then as long
// again, up to 1 s, so that other messages get through. What changes meanwhile is sent in its last state.
func (s *socket) yield(size int) {
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
