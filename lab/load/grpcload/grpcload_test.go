package grpcload

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/nethttp"
	"dyno/lab/record"
	"dyno/lab/workload"

	"github.com/HdrHistogram/hdrhistogram-go"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	testing_pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type discard struct{}

func (discard) Window(record.Window, map[string]*hdrhistogram.Histogram) error { return nil }

// service is a gRPC service that keeps what it received.
type service struct {
	testing_pb.UnimplementedTestServiceServer
	mu       sync.Mutex
	users    map[string]int // by name, from the metadata
	payloads map[string]int
}

func (s *service) UnaryCall(ctx context.Context, in *testing_pb.SimpleRequest) (*testing_pb.SimpleResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	s.mu.Lock()
	s.users[strings.Join(md.Get("user"), ",")]++
	s.payloads[string(in.GetPayload().GetBody())]++
	s.mu.Unlock()
	if e := in.GetResponseStatus(); e != nil {
		return nil, status.Error(codes.Code(e.GetCode()), e.GetMessage())
	}
	if in.GetFillServerId() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &testing_pb.SimpleResponse{Username: "ann", Payload: in.GetPayload()}, nil
}

func (s *service) StreamingOutputCall(in *testing_pb.StreamingOutputCallRequest, out testing_pb.TestService_StreamingOutputCallServer) error {
	for _, p := range in.GetResponseParameters() {
		if err := out.Send(&testing_pb.StreamingOutputCallResponse{Payload: &testing_pb.Payload{Body: make([]byte, p.GetSize())}}); err != nil {
			return err
		}
	}
	return nil
}

// StreamingInputCall answers with the number of bytes in all messages.
func (s *service) StreamingInputCall(in testing_pb.TestService_StreamingInputCallServer) error {
	sum := int32(0)
	for {
		m, err := in.Recv()
		if errors.Is(err, io.EOF) {
			return in.SendAndClose(&testing_pb.StreamingInputCallResponse{AggregatedPayloadSize: sum})
		} else if err != nil {
			return err
		}
		if sum += int32(len(m.GetPayload().GetBody())); m.GetExpectCompressed().GetValue() {
			return status.Error(codes.FailedPrecondition, "enough") // while the client still sends
		}
		s.mu.Lock()
		s.payloads[string(m.GetPayload().GetBody())]++
		s.mu.Unlock()
	}
}

// FullDuplexCall answers each message with its payload.
func (s *service) FullDuplexCall(both testing_pb.TestService_FullDuplexCallServer) error {
	for {
		m, err := both.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := both.Send(&testing_pb.StreamingOutputCallResponse{Payload: m.GetPayload()}); err != nil {
			return err
		}
	}
}

// serve starts a server, with reflection or without; the URL is that of a load.
func serve(t *testing.T, reflects, secure bool) (*service, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url, options := "http://"+l.Addr().String(), []grpc.ServerOption{}
	if secure {
		lender := httptest.NewUnstartedServer(nil)
		lender.StartTLS() // this makes the server's certificate
		settings := &tls.Config{Certificates: lender.TLS.Certificates}
		lender.Close()
		url, options = "https://"+l.Addr().String(), append(options, grpc.Creds(credentials.NewTLS(settings)))
	}
	g, s := grpc.NewServer(options...), &service{users: map[string]int{}, payloads: map[string]int{}}
	testing_pb.RegisterTestServiceServer(g, s)
	if reflects {
		reflection.Register(g)
	}
	var serving sync.WaitGroup
	serving.Go(func() { g.Serve(l) })
	t.Cleanup(func() {
		g.Stop()
		serving.Wait()
	})
	return s, url
}

const (
	unary   = "grpc.testing.TestService/UnaryCall"
	stream  = "grpc.testing.TestService/StreamingOutputCall"
	inputs  = "grpc.testing.TestService/StreamingInputCall"
	both    = "grpc.testing.TestService/FullDuplexCall"
	callsIn = 20
)

func messages(t *testing.T, body string, check workload.Check) *corpus.Corpus {
	t.Helper()
	rows, err := corpus.ReadCSV(strings.NewReader("name\nann\nbob\n"))
	if err != nil {
		t.Fatal(err)
	}
	return build(t, corpus.Spec{Rows: rows, Load: calling(body, map[string]string{"user": "${row.name}"}, check)})
}

// several makes requests whose bodies hold several messages, one per line.
func several(t *testing.T, messages []string, check workload.Check) *corpus.Corpus {
	t.Helper()
	return build(t, corpus.Spec{Load: calling(strings.Join(messages, "\n")+"\n", nil, check)})
}

func calling(body string, headers map[string]string, check workload.Check) workload.Load {
	return workload.Load{GRPC: &workload.Call{}, Headers: headers, Check: check, Requests: []workload.Request{{Body: workload.Body{Text: body}}}}
}

func build(t *testing.T, spec corpus.Spec) *corpus.Corpus {
	t.Helper()
	out, err := corpus.Build(spec)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func run(t *testing.T, c Config, timeout time.Duration) (record.Totals, *Driver) {
	t.Helper()
	d, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	const length = 200 * time.Millisecond
	p := load.Plan{Connections: 2, Length: length, Drain: 20 * time.Second, Timeout: timeout,
		Schedule: func() load.Schedule { return load.Constant(callsIn/length.Seconds(), length) }}
	totals, _, err := load.Run(t.Context(), p, d, discard{})
	if err != nil {
		t.Fatal(err)
	}
	return totals, d
}

// Unary calls with the server's own reflection: JSON becomes messages, headers become metadata,
// and each message carries its request's number.
func TestUnary(t *testing.T) {
	s, url := serve(t, true, false)
	check := workload.Check{JSON: []workload.JSONTest{{Path: "username", Equals: "ann"}}}
	// A field of bytes is base64 in JSON: the 16 digits of the number are 12 bytes.
	got, d := run(t, Config{Target: url, Call: unary, Streams: 3, Corpus: messages(t, `{"payload":{"body":"${id}"}}`, check)}, time.Minute)
	if got.Completed != callsIn || got.Failed != 0 || got.Status["200"] != callsIn {
		t.Fatalf("%+v %v", got, d.Notes())
	}
	if len(s.payloads) != callsIn || s.users["ann"] != callsIn/2 || s.users["bob"] != callsIn/2 || d.Protocol() != "gRPC over HTTP/2" {
		t.Errorf("%d payloads, users %v, protocol %q", len(s.payloads), s.users, d.Protocol())
	}
}

// A streamed call ends with its stream; checks test the last message.
func TestServerStreamsOverTLS(t *testing.T) {
	_, url := serve(t, true, true)
	for last, failed := range map[int]int64{3: 0, 4: callsIn} {
		check := workload.Check{JSON: []workload.JSONTest{{Path: "payload.body", Equals: "AAAA"}}}
		body := fmt.Sprintf(`{"responseParameters":[{"size":1},{"size":%d}]}`, last)
		got, d := run(t, Config{Target: url, Call: stream, TLS: nethttp.TLS{Insecure: true}, Corpus: messages(t, body, check)}, time.Minute)
		if got.Completed != callsIn || got.Failed != failed || got.Errors["check"] != failed || d.Protocol() != "gRPC over HTTP/2 over TLS 1.3" {
			t.Errorf("%q: %+v %v", d.Protocol(), got, d.Notes())
		}
	}
}

// Calls that stream messages to the server, which answers all with one message or each with one.
// The messages are larger than the flow-control window: a server whose answers are not read would
// block, and so would a client that only sends.
func TestClientStreamsOverTLS(t *testing.T) {
	s, url := serve(t, true, true)
	digits, large := base64.StdEncoding.EncodeToString([]byte("0123")), strings.Repeat("AAAA", 8<<10)
	for _, tt := range []struct {
		call     string
		messages []string
		path     string
		equals   any
	}{
		{inputs, []string{`{"payload":{"body":"` + digits + `"}}`, `{"payload":{"body":"${id}"}}`, "{}"}, "aggregatedPayloadSize", 16.0},
		{inputs, []string{""}, "aggregatedPayloadSize", 0.0},
		{both, []string{`{"payload":{"body":"${id}"}} {"payload":{"body":"` + digits + `"}}`}, "payload.body", digits},
		{both, slices.Repeat([]string{`{"payload":{"body":"` + large + `"}}`}, 40), "payload.body", large},
	} {
		check := workload.Check{JSON: []workload.JSONTest{{Path: tt.path, Equals: tt.equals}}}
		got, d := run(t, Config{Target: url, Call: tt.call, TLS: nethttp.TLS{Insecure: true}, Corpus: several(t, tt.messages, check)}, time.Minute)
		if got.Completed != callsIn || got.Failed != 0 || d.Protocol() != "gRPC over HTTP/2 over TLS 1.3" {
			t.Errorf("%s: %q %+v %v", tt.call, d.Protocol(), got, d.Notes())
		}
	}
	if len(s.payloads) != callsIn+2 || s.payloads["0123"] != callsIn || s.payloads[""] != callsIn {
		t.Errorf("%d payloads", len(s.payloads))
	}
}

// A server may end a call before the client has sent all messages.
func TestStreamsEndEarly(t *testing.T) {
	_, url := serve(t, true, false)
	large := `{"payload":{"body":"` + strings.Repeat("AAAA", 8<<10) + `"},"expectCompressed":{"value":true}}`
	got, d := run(t, Config{Target: url, Call: inputs, Corpus: several(t, slices.Repeat([]string{large}, 40), workload.Check{})}, time.Minute)
	if notes := strings.Join(d.Notes(), "\n"); got.Failed != callsIn || got.Status["400"] != callsIn || !strings.Contains(notes, "FailedPrecondition: 20, the first: enough") {
		t.Errorf("%v %v", got.Status, notes)
	}
}

// Results show gRPC codes as HTTP statuses; the notes have the code and its message.
func TestFailures(t *testing.T) {
	_, url := serve(t, true, false)
	for _, tt := range []struct {
		body, kind, status, note string
		timeout                  time.Duration
	}{
		{`{"responseStatus":{"code":5,"message":"no such order"}}`, "status", "404", "calls that failed with NotFound: 20, the first: no such order", time.Minute},
		{`{"responseStatus":{"code":14,"message":"later"}}`, "status", "503", "calls that failed with Unavailable: 20, the first: later", time.Minute},
		{`{"fillServerId":true}`, "timeout", "", "DeadlineExceeded", 100 * time.Millisecond},
	} {
		got, d := run(t, Config{Target: url, Call: unary, Streams: callsIn, Corpus: messages(t, tt.body, workload.Check{})}, tt.timeout)
		notes := strings.Join(d.Notes(), "\n")
		if got.Failed != callsIn || got.Errors[tt.kind] != callsIn || tt.status != "" && got.Status[tt.status] != callsIn {
			t.Errorf("%s: errors %v, status %v", tt.body, got.Errors, got.Status)
		}
		if tt.status != "" && !strings.Contains(notes, tt.note) {
			t.Errorf("notes %q, want %q", notes, tt.note)
		}
	}
}

// A server that goes away makes calls fail; the drive itself does not fail.
func TestRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	got, d := run(t, Config{Target: "http://" + l.Addr().String(), Call: unary, Descriptors: descriptors(t), Corpus: messages(t, "{}", workload.Check{})}, time.Minute)
	if got.Failed != callsIn || got.Errors["refused"] != callsIn {
		t.Errorf("%v %v", got.Errors, d.Notes())
	}
}

// descriptors is a descriptor set for the service, as protoc writes it.
func descriptors(t *testing.T) []byte {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	have := map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if have[f.Path()] {
			return
		}
		have[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	add(testing_pb.File_grpc_testing_test_proto)
	b, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNewFindsFaults(t *testing.T) {
	_, url := serve(t, true, false)
	_, silent := serve(t, false, false)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, older := grpc.NewServer(), "http://"+l.Addr().String() // with the older reflection only
	testing_pb.RegisterTestServiceServer(g, &service{})
	alpha.RegisterServerReflectionServer(g, reflection.NewServer(reflection.ServerOptions{Services: g}))
	var serving sync.WaitGroup
	serving.Go(func() { g.Serve(l) })
	defer serving.Wait()
	defer g.Stop()
	for _, tt := range []struct{ target, call, body, want string }{
		{"ws://x", unary, "", "write http://HOST:PORT"},
		{url, "TestService", "", "write package.Service/Method"},
		{url, "grpc.testing.Other/X", "", "its reflection answered NotFound"},
		{url, "grpc.testing.TestService/Unary", "", "has no method Unary; it has EmptyCall, UnaryCall"},
		{url, inputs, "{} {", "message 1: message 2 of the stream is no JSON"},
		{url, inputs, `{}
{"user":1}`, "message 1: message 2 of the stream: as a grpc.testing.StreamingInputCallRequest:"},
		{url, unary, "{} {}", "as a grpc.testing.SimpleRequest:"},
		{url, unary, `{"user":1}`, "message 1: as a grpc.testing.SimpleRequest:"},
		{older, "grpc.testing.TestService/Unary", "", "has no method Unary"},
		{silent, unary, "", "name its .proto files in load.proto, or a file of descriptors in load.descriptors"},
	} {
		if _, err := New(t.Context(), Config{Target: tt.target, Call: tt.call, Corpus: messages(t, tt.body, workload.Check{})}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v, want %q", tt.target, tt.call, err, tt.want)
		}
	}
	if _, err := New(t.Context(), Config{Target: url, Call: unary, Descriptors: []byte("x"), Corpus: messages(t, "", workload.Check{})}); err == nil || !strings.Contains(err.Error(), "reading the descriptors of grpc.testing.TestService") {
		t.Error(err)
	}
}

// Descriptors come from a target or a file: no bytes may cause more than an error.
func FuzzDescriptors(f *testing.F) {
	f.Add([]byte("\x0a\x03\x0a\x01a"), unary)
	f.Add([]byte(""), "a/b")
	f.Fuzz(func(_ *testing.T, set []byte, call string) {
		d := &Driver{config: Config{Call: call, Descriptors: append([]byte{}, set...)}}
		if m, err := d.describe(context.Background()); err == nil && m.Input() == nil {
			panic("a method without a message")
		}
	})
}
