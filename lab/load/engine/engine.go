// Package engine makes the driver of a load of requests, gRPC calls, flows or sessions. Every process that
// has the load's description makes the same driver.
//
// It does not make schedules (load.Plan) and does not build requests (corpus does). It starts no
// goroutines.
package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"net/url"
	"runtime"
	"slices"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/flows"
	"dyno/lab/load/grpcload"
	"dyno/lab/load/http1"
	"dyno/lab/load/jsonrpc"
	"dyno/lab/load/nethttp"
	"dyno/lab/load/sessions"
	"dyno/lab/load/sessions/script"
	"dyno/lab/workload"
)

// Engines of HTTP that a load can name.
const (
	Auto = "auto" // Raw if it supports the load, otherwise Std; the same as ""
	Raw  = "raw"
	Std  = "std"
)

// New makes a load's driver and its requests. Flows and sessions build what they send during the
// run, so their requests are empty.
func New(s *corpus.Spec) (load.Driver, *corpus.Corpus, error) {
	switch s.Load.Kind {
	case workload.Flows:
		d, err := flows.New(*s)
		return d, &corpus.Corpus{}, err
	case workload.Sessions:
		d, err := opened(s)
		return d, &corpus.Corpus{}, err
	}
	requests, err := corpus.Build(*s)
	if err != nil {
		return nil, nil, err
	}
	d, err := driver(s, requests)
	return d, requests, err
}

// opened makes the driver of sessions that the load describes.
func opened(s *corpus.Spec) (load.Driver, error) {
	if s.Load.Driver != nil {
		return nil, errors.New("a program drives these sessions")
	}
	settings := nethttp.TLSOf(s)
	d, err := script.New(*s, func(host string) (*tls.Config, error) { return settings.Config(host, false) })
	if err != nil {
		return nil, err
	}
	name := "events"
	if s.Load.Traits().Sockets {
		name = "websocket"
	}
	return &sessions.Engine{Name: name, Driver: d}, nil
}

// driver makes the driver of requests: the kind of load selects gRPC, the URL selects WebSockets,
// and for HTTP it is Raw if possible, otherwise Std.
func driver(s *corpus.Spec, requests *corpus.Corpus) (load.Driver, error) {
	l := &s.Load
	if l.Kind == workload.GRPC {
		c, err := calls(s)
		if err != nil {
			return nil, err
		}
		if c.Descriptors == nil {
			return nil, errors.New("the calls have no descriptors")
		}
		c.Corpus = requests
		return grpcload.New(context.Background(), c) // with descriptors New does not wait for the target
	}
	traits := l.Traits()
	if traits.Sockets {
		return Sockets(s, requests)
	}
	origin, err := originOf(s)
	if err != nil {
		return nil, err
	}
	rawCan := origin.Scheme == "http" && !l.TLS.HTTP2 && l.Think == 0 && l.Follow == 0 && runtime.GOOS == "linux"
	switch {
	case l.Engine == Raw && !rawCan:
		return nil, errors.New("the raw engine speaks HTTP/1.1 without TLS, think time or redirects that are followed, on Linux; use engine std")
	case l.Engine == Raw, l.Engine != Std && rawCan:
		return http1.New(http1.Config{Target: origin.String(), Corpus: requests, Pipeline: l.Pipeline, Realtime: true})
	case l.Pipeline > 1:
		return nil, errors.New("only the raw engine pipelines requests")
	}
	return Standard(s, requests)
}

// originOf returns the scheme, host and port of a load's URL.
func originOf(s *corpus.Spec) (*url.URL, error) {
	u, err := url.Parse(s.Load.URL)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("the url names no host")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// calls returns the configuration of a load's gRPC calls.
func calls(s *corpus.Spec) (grpcload.Config, error) {
	if s.Load.GRPC == nil {
		return grpcload.Config{}, errors.New("the load names no call")
	}
	origin, err := originOf(s)
	if err != nil {
		return grpcload.Config{}, err
	}
	return grpcload.Config{Target: origin.String(), Call: s.Load.GRPC.Call, Descriptors: s.Descriptors, Streams: s.Load.Pipeline, TLS: nethttp.TLSOf(s)}, nil
}

// Describe fetches the descriptors of gRPC calls from the target, unless the spec has them.
func Describe(ctx context.Context, s *corpus.Spec) error {
	if s.Load.Kind != workload.GRPC || s.Descriptors != nil {
		return nil
	}
	c, err := calls(s)
	if err == nil {
		s.Descriptors, err = grpcload.Describe(ctx, c)
	}
	return err
}

// Hosts returns the hosts that the load goes to.
func Hosts(s *corpus.Spec) ([]string, error) {
	origin, err := originOf(s)
	if err != nil {
		return nil, err
	}
	hosts := []string{origin.Hostname()}
	further, err := flows.Hosts(&s.Load)
	if of := s.Load.Sessions; err == nil && of != nil && of.Send != nil && of.Send.URL != "" {
		u, bad := url.Parse(of.Send.URL)
		if bad != nil || u.Hostname() == "" {
			return nil, errors.New("send.url names no host")
		}
		further = append(further, u.Hostname())
	}
	for _, host := range further {
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts, err
}

// Standard makes the net/http driver of requests.
func Standard(s *corpus.Spec, requests *corpus.Corpus) (*nethttp.Driver, error) {
	origin, err := originOf(s)
	if err != nil {
		return nil, err
	}
	return nethttp.New(nethttp.Config{Target: origin.String(), Corpus: requests, HTTP2: s.Load.TLS.HTTP2 || s.Load.Traits().HTTP2, Think: s.Load.Think, Follow: s.Load.Follow, TLS: nethttp.TLSOf(s)})
}

// Sockets makes the driver of calls over WebSockets.
func Sockets(s *corpus.Spec, requests *corpus.Corpus) (*jsonrpc.Driver, error) {
	u, err := url.Parse(s.Load.URL)
	if err != nil {
		return nil, err
	}
	c := jsonrpc.Config{Target: u.String(), Corpus: requests, InFlight: s.Load.Pipeline}
	if u.Scheme == "wss" {
		settings := nethttp.TLSOf(s)
		if c.TLS, err = settings.Config(u.Hostname(), false); err != nil {
			return nil, err
		}
	}
	return jsonrpc.New(c)
}
