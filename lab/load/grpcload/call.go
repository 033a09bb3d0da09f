package grpcload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"crypto/tls"

	"dyno/lab/load"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Connect establishes a connection before the run's start.
func (d *drive) Connect(ctx context.Context, worker int) {
	if worker >= len(d.conns) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, describeLimit)
	defer cancel()
	c := d.conns[worker]
	c.Connect()
	for state := c.GetState(); state == connectivity.Idle || state == connectivity.Connecting; state = c.GetState() {
		if !c.WaitForStateChange(ctx, state) {
			return
		}
	}
}

// call makes one call with the given messages, and returns the last message of the answer.
func (d *Driver) call(ctx context.Context, conn *grpc.ClientConn, messages [][]byte) (answer []byte, err error) {
	ctx, cancel := context.WithCancel(ctx) // without this, a stream that returns early would stay open
	defer cancel()
	options := []grpc.CallOption{grpc.ForceCodec(asItIs{})}
	var from peer.Peer
	if !d.negotiated.known() {
		options = append(options, grpc.Peer(&from))
		defer func() { d.negotiated.observe(&from) }()
	}
	shape := &grpc.StreamDesc{ClientStreams: d.method.IsStreamingClient(), ServerStreams: d.method.IsStreamingServer()}
	stream, err := conn.NewStream(ctx, shape, "/"+d.config.Call, options...)
	if err != nil {
		return nil, err
	}
	if shape.ClientStreams && shape.ServerStreams {
		// The loop below reads while the goroutine sends: a server that answers each message
		// stops reading when its client does not.
		var sending sync.WaitGroup
		sending.Go(func() { send(stream, messages) }) // RecvMsg returns the reason if sending fails
		defer sending.Wait()
		defer cancel()
	} else if err := send(stream, messages); err != nil {
		return nil, err
	}
	for {
		err := stream.RecvMsg(&answer)
		switch {
		case errors.Is(err, io.EOF) && shape.ServerStreams:
			return answer, nil
		case err != nil || !shape.ServerStreams:
			return answer, err
		}
	}
}

// send sends the messages without a pause. It returns nil if the server has already ended the
// call: RecvMsg then returns the reason.
func send(stream grpc.ClientStream, messages [][]byte) error {
	for i := range messages {
		if err := stream.SendMsg(&messages[i]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return stream.CloseSend()
}

// asItIs is a codec that passes on messages which are already encoded.
type asItIs struct{}

func (asItIs) Name() string { return "proto" }

func (asItIs) Marshal(v any) ([]byte, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("%T is no encoded message", v)
	}
	return *b, nil
}

func (asItIs) Unmarshal(data []byte, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T holds no encoded message", v)
	}
	*b = append((*b)[:0], data...)
	return nil
}

// statusOf returns the status that results give for a failed call, and notes the reason.
func (d *Driver) statusOf(ctx context.Context, err error) load.Status {
	if errors.Is(ctx.Err(), context.Canceled) {
		return load.Other // the end of the run cancelled the call
	}
	s := status.Convert(err)
	d.failed.Add("calls that failed with "+s.Code().String(), errors.New(s.Message()))
	switch {
	case ctx.Err() != nil, s.Code() == codes.DeadlineExceeded: // the server may notice the deadline first
		return load.Timeout
	case s.Code() == codes.Unavailable && strings.Contains(s.Message(), "connection refused"):
		return load.Refused
	case s.Code() == codes.Unavailable && strings.HasPrefix(s.Message(), "connection error"):
		return load.Connect
	case s.Code() == codes.Unavailable && strings.Contains(s.Message(), "error reading from server"):
		return load.Closed
	}
	return load.Status(asHTTP(s.Code()))
}

// asHTTP returns the HTTP status under which results count a gRPC code. It is the one that
// gateways from HTTP to gRPC use.
func asHTTP(code codes.Code) int {
	switch code {
	case codes.OK:
		return http.StatusOK
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.NotFound:
		return http.StatusNotFound
	case codes.AlreadyExists, codes.Aborted:
		return http.StatusConflict
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Canceled:
		return 499 // client closed request
	case codes.Unimplemented:
		return http.StatusNotImplemented
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError // Unknown, Internal, DataLoss
}

// negotiated holds the protocol of the first call's connection.
type negotiated struct{ text atomic.Pointer[string] }

func (s *negotiated) known() bool { return s.text.Load() != nil }

func (s *negotiated) observe(from *peer.Peer) {
	if from.Addr == nil {
		return
	}
	text := "gRPC over HTTP/2"
	if secure, ok := from.AuthInfo.(credentials.TLSInfo); ok {
		text += " over " + tls.VersionName(secure.State.Version)
	}
	s.text.Store(&text)
}

func (s *negotiated) String() string {
	if text := s.text.Load(); text != nil {
		return *text
	}
	return ""
}
