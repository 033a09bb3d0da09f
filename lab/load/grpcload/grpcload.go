// Package grpcload drives a target with gRPC calls: unary ones, and calls that stream messages in
// either direction or both. Scenarios write the messages as JSON; the driver encodes them before
// the load, by descriptors that come from the target's reflection or from a file.
//
// It does not support calls in which one message depends on the answer to another, nor HTTP (see
// nethttp). Drive owns the pool's goroutines, those of the connections, and one for each call
// that sends and receives concurrently; all have ended when it returns.
package grpcload

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/nethttp"
	"dyno/lab/load/pool"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// Config says what to call and where. Plan.Connections is the number of connections.
type Config struct {
	Target      string // scheme, host and port: https with TLS, http without
	Call        string // package.Service/Method
	Descriptors []byte // a google.protobuf.FileDescriptorSet; nil: ask the target's reflection
	// Corpus holds the messages as the bodies of its requests, in JSON, and the calls' metadata
	// as their headers. For a method that takes a stream, a body holds its messages one after the
	// other. Checks test the answer in JSON form; of a streamed answer they test the last
	// message.
	Corpus  *corpus.Corpus
	Streams int // calls in flight on each connection; 0: 1
	TLS     nethttp.TLS
}

// Driver is a load.Driver. It can drive several plans, one after the other.
type Driver struct {
	config     Config
	addr       string
	options    []grpc.DialOption
	method     protoreflect.MethodDescriptor
	messages   [][][]byte // encoded messages, by request; nil for a request that contains its sequence number
	metadata   []metadata.MD
	failed     load.Notes
	negotiated negotiated
}

var _ load.Driver = (*Driver)(nil)

// describeLimit bounds the time in which the target's reflection must answer, and an attempt to
// connect.
const describeLimit = 10 * time.Second

// New fetches the descriptors from the target, unless the configuration has them, and encodes the
// messages.
func New(ctx context.Context, c Config) (*Driver, error) {
	if err := c.Corpus.Prepare(); err != nil {
		return nil, err
	}
	d, err := to(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, describeLimit)
	defer cancel()
	if d.method, err = d.describe(ctx); err != nil {
		return nil, err
	}
	for i := range c.Corpus.Requests {
		if err := d.encode(&c.Corpus.Requests[i]); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	return d, nil
}

// Describe fetches Config.Descriptors through the target's reflection, so that another process
// can make the same calls without asking the target.
func Describe(ctx context.Context, c Config) ([]byte, error) {
	d, err := to(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, describeLimit)
	defer cancel()
	set, _, err := d.descriptors(ctx)
	if err != nil {
		return nil, err
	}
	return proto.Marshal(set)
}

// to returns a driver with the address and the dial options of the target.
func to(c Config) (*Driver, error) {
	u, err := url.Parse(c.Target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, fmt.Errorf("target %q: write http://HOST:PORT or, with TLS, https://HOST:PORT", c.Target)
	}
	d := &Driver{config: c, addr: net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), u.Scheme))}
	secure := insecure.NewCredentials()
	if u.Scheme == "https" {
		settings, err := c.TLS.Config(u.Hostname(), true)
		if err != nil {
			return nil, err
		}
		secure = credentials.NewTLS(settings)
	}
	const firstPause, longestPause = time.Millisecond, 100 * time.Millisecond // between attempts to connect
	d.options = []grpc.DialOption{grpc.WithTransportCredentials(secure), grpc.WithNoProxy(), grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: firstPause, Multiplier: 2, MaxDelay: longestPause}, MinConnectTimeout: describeLimit})}
	return d, nil
}

func (d *Driver) dial() (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+d.addr, d.options...)
}

func (d *Driver) encode(r *corpus.Request) error {
	messages, err := d.encoded(r.Body)
	if err != nil {
		return err
	}
	if len(r.IDs) > 0 {
		messages = nil // encoded for each call
	}
	md := metadata.MD{}
	for name, values := range r.Header {
		md.Append(name, values...)
	}
	d.messages, d.metadata = append(d.messages, messages), append(d.metadata, md)
	return nil
}

// encoded encodes a call's messages, which are written as JSON. An empty text stands for one
// empty message or, if the method takes a stream, for no message.
func (d *Driver) encoded(text []byte) (out [][]byte, err error) {
	if !d.method.IsStreamingClient() {
		message, err := d.message(text)
		return [][]byte{message}, err
	}
	out = [][]byte{}
	for in := json.NewDecoder(bytes.NewReader(text)); ; {
		var one json.RawMessage
		if err := in.Decode(&one); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("message %d of the stream is no JSON: %w", len(out)+1, err)
		}
		message, err := d.message(one)
		if err != nil {
			return nil, fmt.Errorf("message %d of the stream: %w", len(out)+1, err)
		}
		out = append(out, message)
	}
}

// message encodes one message; an empty text stands for the empty message.
func (d *Driver) message(text []byte) ([]byte, error) {
	m := dynamicpb.NewMessage(d.method.Input())
	if len(text) > 0 {
		if err := protojson.Unmarshal(text, m); err != nil {
			return nil, fmt.Errorf("as a %s: %w", m.Descriptor().FullName(), err)
		}
	}
	out, err := proto.Marshal(m)
	if out == nil {
		out = []byte{}
	}
	return out, err
}

// Engine returns the driver's name.
func (d *Driver) Engine() string { return "grpc" }

// Notes returns how many calls failed and why, by code.
func (d *Driver) Notes() []string { return d.failed.Notes() }

// Protocol returns what the connections negotiated; see load.Negotiating.
func (d *Driver) Protocol() string { return d.negotiated.String() }

// Drive carries out the plan; see load.Driver.
func (d *Driver) Drive(ctx context.Context, p *load.Plan, rec *load.Recorder) error {
	drive := &drive{Driver: d}
	defer drive.close()
	for range max(p.Connections, 1) {
		conn, err := d.dial()
		if err != nil {
			return err
		}
		drive.conns = append(drive.conns, conn)
	}
	workers := *p
	workers.Connections = len(drive.conns) * max(d.config.Streams, 1)
	return (&pool.Driver{Name: d.Engine(), Doer: drive, Next: d.config.Corpus.Take}).Drive(ctx, &workers, rec)
}

// drive is the pool.Doer of one Drive.
type drive struct {
	*Driver
	conns []*grpc.ClientConn
}

func (d *drive) close() {
	for _, c := range d.conns {
		c.Close()
	}
}

// Do makes one call.
func (d *drive) Do(ctx context.Context, o *pool.Arrival) pool.Result {
	requests := d.config.Corpus
	r := &requests.Requests[o.Index]
	messages := d.messages[o.Index]
	if messages == nil {
		text := append([]byte(nil), r.Body...)
		for _, at := range r.IDs {
			corpus.PutID(text[at:], o.Seq)
		}
		var err error
		if messages, err = d.encoded(text); err != nil {
			return pool.Result{Status: load.Other, Class: r.Class}
		}
	}
	answer, err := d.call(metadata.NewOutgoingContext(ctx, d.metadata[o.Index]), d.conns[o.Worker%len(d.conns)], messages)
	if err != nil {
		status := d.statusOf(ctx, err)
		return pool.Result{Status: status, Class: r.Class}
	}
	result := pool.Result{Status: http.StatusOK, Class: r.Class, Success: true}
	if check := &requests.Classes[r.Class].Check; check.NeedsContent() {
		if err := d.unmet(check, answer); err != nil {
			d.failed.Add("calls that failed a check", err)
			result.Success, result.Checked = false, true
		}
	}
	return result
}

// unmet converts an answer to JSON and returns the criterion that it does not meet, or nil.
func (d *Driver) unmet(check *corpus.Check, answer []byte) error {
	m := dynamicpb.NewMessage(d.method.Output())
	if err := proto.Unmarshal(answer, m); err != nil {
		return fmt.Errorf("the answer is no %s: %w", d.method.Output().FullName(), err)
	}
	text, err := protojson.MarshalOptions{EmitUnpopulated: true}.Marshal(m)
	if err != nil {
		return err
	}
	return check.Unmet(nil, text)
}
