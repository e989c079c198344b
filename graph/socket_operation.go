package graph

import (
	"context"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// subscribe starts an operation of any kind. It returns false when it had to
// close the socket.
func (s *socket) subscribe(m message) bool {
	var asked request
	if m.ID == "" || !decode(strings.NewReader(string(m.Payload)), &asked) {
		s.close(closeBadRequest, "Invalid message: subscribe has an id, and a payload with query, operationName, variables and extensions of the right types")
		return false
	}
	params, why := asked.params(s.header)
	if why != nil {
		s.close(closeBadRequest, "Invalid message: "+why.message)
		return false
	}
	ctx, cancel := context.WithCancel(s.ctx)
	r := &running{id: m.ID, name: asJSON(m.ID), cancel: cancel}

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
		s.close(closeIDInUse, cutReason("Subscriber for "+strings.ToValidUTF8(r.id[:min(len(r.id), 80)], "")+" already exists"))
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
	if run.answer != nil {
		s.fail(r, run.answer.Errors)
		return
	}
	if run.subscribes() {
		s.watch(r, run)
		return
	}
	_ = run.once(s.timeout)
	if s.show(r, run.answer, nil) {
		s.complete(r)
	}
}

// watch shows the events of a subscription until it ends.
func (s *socket) watch(r *running, run *operation) {
	sub := s.streams.begin(run)
	defer sub.close()
	if sub.watch == nil {
		if sub.first != nil && s.show(r, sub.first, nil) {
			s.complete(r)
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
			for answer := sub.take(); answer != nil; answer = sub.take() {
				if !s.show(r, answer, sub) {
					return
				}
			}
		}
	}
}

// show sends an answer, unless the client has completed the operation. Of a
// subscription it sends a later one if there is one now: other answers on this
// socket may have told more while it was made.
func (s *socket) show(r *running, answer *graphql.Response, sub *subscription) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[r.id] != r || sub != nil && s.left {
		return false
	}
	if sub != nil {
		if later := sub.newer(); later != nil {
			answer = later
		}
	}
	s.writeLocked(typeNext, r.name, appendAnswer(make([]byte, 0, len(answer.Data)+64), answer))
	return true
}

// complete says that an operation has no further answers.
func (s *socket) complete(r *running) { s.finish(r, typeComplete, nil) }

// fail says that an operation did not run. It is the only message about it.
func (s *socket) fail(r *running, errs gqlerror.List) { s.finish(r, typeError, asJSON(errs)) }

func (s *socket) finish(r *running, kind string, payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[r.id] == r {
		delete(s.live, r.id)
		s.writeLocked(kind, r.name, payload)
	}
}
