package jsonrpc

import (
	"bytes"
	"context"
	"runtime/debug"
	"time"
)

// keptBytes bounds the buffers that are reused: an array of 1,000 transfers fits, and the largest
// messages do not.
const keptBytes = 1 << 20

// exchange is a message and its answer.
type exchange struct {
	message bytes.Buffer
	batch   Batch
	answer  []byte // empty: none
	large   bool   // the answer is one of bounds.MaxLarge
}

func (s *Server) exchange() *exchange { return s.buffers.Get().(*exchange) }

// release lets an exchange be used again. Its message and its answer are invalid from now on.
func (s *Server) release(x *exchange) {
	x.batch.Reset()
	if x.large {
		x.large = false
		s.releaseLarge()
	}
	if x.message.Cap()+cap(x.answer) > keptBytes || cap(x.batch.Calls) > 1000 {
		return
	}
	x.message.Reset()
	x.answer = x.answer[:0]
	s.buffers.Put(x)
}

// releaseLarge gives back the place of a large answer.
func (s *Server) releaseLarge() { <-s.large }

// serve answers the message of an exchange.
func (s *Server) serve(ctx context.Context, x *exchange) {
	if no := s.o.Codec.Decode(x.message.Bytes(), s.bounds.MaxCalls, &x.batch); no != nil {
		s.o.Observe("", 0, no.Code)
		x.answer = appendRefusal(s.o.Codec, x.answer[:0], &x.batch, no)
		return
	}
	answers := newAnswers(s.o.Codec, x.answer[:0], x.batch.Array, s.bounds.MaxAnswer)
	s.run(ctx, x, &answers)
	x.answer = answers.all()
}

// run runs the calls of a message in their order. Results are written as soon as they are there, so
// that those of a large array need not fit into memory. Where it takes too long, the answers become
// too large or the client has gone, the calls that are left are not run.
func (s *Server) run(ctx context.Context, x *exchange, answers *answers) {
	began := time.Now()
	for calls := x.batch.Calls; len(calls) > 0; {
		if answers.size() > largeBytes && !x.large {
			x.large = s.waitForLarge(ctx, began)
		}
		n := s.together(calls)
		switch {
		case answers.full:
			s.refuseCalls(calls[:n], errTooLarge)
		case ctx.Err() != nil || time.Since(began) > s.bounds.MaxTime:
			s.refuseCalls(calls[:n], errTimedOut)
		case n > 1:
			s.callTogether(ctx, calls[:n])
		default:
			s.call(ctx, &calls[0])
		}
		for i := range calls[:n] {
			answers.add(&calls[i])
		}
		calls = calls[n:]
	}
}

// largeBytes is the size from which on an answer counts towards bounds.MaxLarge.
const largeBytes = 1 << 20

// waitForLarge waits until there may be one more large answer. Those that clients do not read thus
// take a bounded part of the memory, however many clients ask. False: it took too long, or the
// client has gone.
func (s *Server) waitForLarge(ctx context.Context, began time.Time) bool {
	late := time.NewTimer(s.bounds.MaxTime - time.Since(began))
	defer late.Stop()
	select {
	case s.large <- struct{}{}:
		return true
	case <-ctx.Done():
	case <-late.C:
	}
	return false
}

var errTimedOut = &Error{Code: TimedOut, Message: "request timed out"}

// refuseCalls makes an error the answer to calls that are valid and are not run.
func (s *Server) refuseCalls(calls []Call, why *Error) {
	for i := range calls {
		c := &calls[i]
		if c.Error == nil {
			c.Error = why
		}
		s.o.Observe(s.methods[string(c.Method)].name, 0, c.Error.Code)
	}
}

// together returns how many of the calls, from the first on, are run by one function of
// Options.Together; 1: none.
func (s *Server) together(calls []Call) int {
	if len(s.o.Together) == 0 || len(calls) == 1 || s.o.Together[string(calls[0].Method)] == nil {
		return 1
	}
	n := 0
	for n < len(calls) && calls[n].Error == nil && bytes.Equal(calls[n].Method, calls[0].Method) {
		n++
	}
	return max(n, 1)
}

// callTogether runs calls of one method. If that panics, each call that it has not answered is run
// alone: only one that panics again has failed.
func (s *Server) callTogether(ctx context.Context, calls []Call) {
	name, began, whole := string(calls[0].Method), time.Now(), false
	func() {
		defer func() {
			if v := recover(); v != nil {
				s.panicked(ctx, name, v)
			}
		}()
		s.o.Together[name](ctx, calls)
		whole = true
	}()
	took := time.Since(began)
	for i := range calls {
		if c := &calls[i]; whole || c.Result != nil || c.Error != nil {
			s.o.Observe(s.methods[name].name, took, code(c))
			continue
		}
		s.call(ctx, &calls[i])
	}
}

// code returns that of a call's error; 0: none.
func code(c *Call) int {
	if c.Error == nil {
		return 0
	}
	return c.Error.Code
}

func (s *Server) call(ctx context.Context, c *Call) {
	if c.Error != nil {
		s.o.Observe("", 0, c.Error.Code)
		return
	}
	m, ok := s.methods[string(c.Method)]
	if !ok {
		c.Error = Errorf(UnknownMethod, "the method %.100s does not exist/is not available", c.Method)
		s.o.Observe("", 0, c.Error.Code)
		return
	}
	began := time.Now()
	s.invoke(ctx, m, c)
	s.o.Observe(m.name, time.Since(began), code(c))
}

// invoke runs a method. One that panics has failed, and the others go on.
func (s *Server) invoke(ctx context.Context, m method, c *Call) {
	defer func() {
		if v := recover(); v != nil {
			s.panicked(ctx, m.name, v)
			c.Error = errFailed
		}
	}()
	result, err := m.run(ctx, c.Params)
	if err != nil {
		c.Error = AsError(err)
		return
	}
	c.Result = result
}

var errFailed = &Error{Code: InternalError, Message: "the method failed"}

func (s *Server) panicked(ctx context.Context, name string, v any) {
	s.o.Log.ErrorContext(ctx, "a method panicked", "method", name, "panic", v, "stack", string(debug.Stack()))
}
