package server

import (
	"bytes"
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"dyno/parts/jsonrpc"
)

// keptBytes bounds the buffers that are reused: an array of 1,000 transfers fits, and the largest
// messages do not.
const keptBytes = 1 << 20

// exchange is a message and its answer.
type exchange struct {
	message bytes.Buffer
	batch   jsonrpc.Batch
	answer  []byte // empty: none
}

func (s *Server) exchange() *exchange { return s.buffers.Get().(*exchange) }

// release lets an exchange be used again. Its message and its answer are invalid from now on.
func (s *Server) release(x *exchange) {
	x.batch.Reset()
	if x.message.Cap()+cap(x.answer) > keptBytes || cap(x.batch.Calls) > 1000 {
		return
	}
	x.message.Reset()
	x.answer = x.answer[:0]
	s.buffers.Put(x)
}

// serve answers the message of an exchange.
func (s *Server) serve(ctx context.Context, x *exchange) {
	if no := s.o.Codec.Decode(x.message.Bytes(), s.o.MaxCalls, &x.batch); no != nil {
		s.o.Observe("", 0, no.Code)
		x.answer = jsonrpc.AppendRefusal(s.o.Codec, x.answer[:0], &x.batch, no)
		return
	}
	s.run(ctx, x.batch.Calls)
	x.answer = jsonrpc.AppendAnswers(s.o.Codec, x.answer[:0], &x.batch, s.o.MaxAnswer)
}

// run runs calls, in order or a few concurrently.
func (s *Server) run(ctx context.Context, calls []jsonrpc.Call) {
	if workers := min(s.o.Parallel, len(calls)); workers > 1 {
		s.runConcurrently(ctx, calls, workers)
		return
	}
	for i := range calls {
		s.call(ctx, &calls[i])
	}
}

func (s *Server) runConcurrently(ctx context.Context, calls []jsonrpc.Call, workers int) {
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(len(calls)); i = next.Add(1) - 1 {
			s.call(ctx, &calls[i])
		}
	}
	var others sync.WaitGroup
	for range workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

func (s *Server) call(ctx context.Context, c *jsonrpc.Call) {
	if c.Error != nil {
		s.o.Observe("", 0, c.Error.Code)
		return
	}
	m, ok := s.methods[string(c.Method)]
	if !ok {
		c.Error = jsonrpc.Errorf(jsonrpc.UnknownMethod, "the method %.100s does not exist/is not available", c.Method)
		s.o.Observe("", 0, c.Error.Code)
		return
	}
	began := time.Now()
	s.invoke(ctx, m, c)
	code := 0
	if c.Error != nil {
		code = c.Error.Code
	}
	s.o.Observe(m.name, time.Since(began), code)
}

// invoke runs a method. One that panics has failed, and the others go on.
func (s *Server) invoke(ctx context.Context, m method, c *jsonrpc.Call) {
	defer func() {
		if v := recover(); v != nil {
			s.o.Log.ErrorContext(ctx, "a method panicked", "method", m.name, "panic", v, "stack", string(debug.Stack()))
			c.Error = jsonrpc.Errorf(jsonrpc.InternalError, "the method failed")
		}
	}()
	result, err := m.run(ctx, c.Params)
	if err != nil {
		c.Error = jsonrpc.AsError(err)
		return
	}
	c.Result = result
}
