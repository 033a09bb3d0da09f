// Package engine makes the driver of a load from a description of it, which can be sent to another
// process: whichever has it sends the same requests, gRPC calls or flows.
//
// It is not for the schedule of the requests (load.Plan), nor for building them (corpus). It starts
// no goroutines.
package engine

import (
	"context"
	"errors"
	"net/url"
	"runtime"
	"slices"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/flows"
	"dyno/lab/load/grpcload"
	"dyno/lab/load/http1"
	"dyno/lab/load/jsonrpc"
	"dyno/lab/load/nethttp"
)

// Engines that Work.Engine can name.
const (
	Auto = "auto" // raw where that is possible; the same as ""
	Raw  = "raw"
	Std  = "std"
)

// Work is a load of requests to one target.
type Work struct {
	URL      string // its path counts for WebSockets only: HTTP requests have their own
	Engine   string // of HTTP
	Corpus   *corpus.Corpus
	HTTP2    bool
	TLS      nethttp.TLS
	Think    time.Duration // closed model: pause of each connection after an answer
	Follow   int           // redirects within the target that a request follows
	Pipeline int           // requests in flight on one connection; 0: one

	// Call makes the requests gRPC calls of package.Service/Method, whose messages Descriptors
	// describe; see grpcload.Config.
	Call        string
	Descriptors []byte
	// Flow has the steps to take in place of single requests, with an empty Corpus; nil: none.
	Flow *corpus.Spec
	// Permit is called for redirects of a flow to another host; nil permits none. It is not encoded.
	Permit func(origin string) error
}

// Driver makes the driver: for WebSockets by the URL; for HTTP raw if possible, std otherwise.
func (w Work) Driver() (load.Driver, error) {
	if w.Flow != nil {
		return flows.New(flows.Config{Spec: *w.Flow, TLS: w.TLS, HTTP2: w.HTTP2, Permit: w.Permit})
	}
	u, err := url.Parse(w.URL)
	if err != nil {
		return nil, err
	}
	if w.Call != "" { // it does not wait: there are descriptors
		return grpcload.New(context.Background(), w.calls(u))
	}
	if u.Scheme == "ws" || u.Scheme == "wss" {
		return w.Sockets()
	}
	rawCan := u.Scheme == "http" && !w.HTTP2 && w.Think == 0 && w.Follow == 0 && runtime.GOOS == "linux"
	switch {
	case w.Engine == Raw && !rawCan:
		return nil, errors.New("the raw engine speaks HTTP/1.1 without TLS, think time or redirects that are followed, on Linux; use engine std")
	case w.Engine == Raw, w.Engine != Std && rawCan:
		return http1.New(http1.Config{Target: u.Scheme + "://" + u.Host, Corpus: w.Corpus, Pipeline: w.Pipeline, Realtime: true})
	case w.Pipeline > 1:
		return nil, errors.New("only the raw engine pipelines requests")
	}
	return w.Standard()
}

func (w Work) calls(u *url.URL) grpcload.Config {
	return grpcload.Config{Target: u.Scheme + "://" + u.Host, Call: w.Call, Descriptors: w.Descriptors, Corpus: w.Corpus, Streams: w.Pipeline, TLS: w.TLS}
}

// Describe asks the target of gRPC calls for their Descriptors, unless there are some.
func (w *Work) Describe(ctx context.Context) error {
	if w.Call == "" || w.Descriptors != nil {
		return nil
	}
	u, err := url.Parse(w.URL)
	if err == nil {
		w.Descriptors, err = grpcload.Describe(ctx, w.calls(u))
	}
	return err
}

// Hosts returns the hosts that are loaded.
func (w Work) Hosts() ([]string, error) {
	u, err := url.Parse(w.URL)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("the url names no host")
	}
	hosts := []string{u.Hostname()}
	if w.Flow == nil {
		return hosts, nil
	}
	further, err := flows.Hosts(&w.Flow.Load)
	for _, host := range further {
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts, err
}

// Standard makes the net/http driver.
func (w Work) Standard() (*nethttp.Driver, error) {
	u, err := url.Parse(w.URL)
	if err != nil {
		return nil, err
	}
	return nethttp.New(nethttp.Config{Target: u.Scheme + "://" + u.Host, Corpus: w.Corpus, HTTP2: w.HTTP2, Think: w.Think, Follow: w.Follow, TLS: w.TLS})
}

// Sockets makes the driver of calls over WebSockets.
func (w Work) Sockets() (*jsonrpc.Driver, error) {
	u, err := url.Parse(w.URL)
	if err != nil {
		return nil, err
	}
	c := jsonrpc.Config{Target: w.URL, Corpus: w.Corpus, InFlight: w.Pipeline}
	if u.Scheme == "wss" {
		if c.TLS, err = w.TLS.Config(u.Hostname(), false); err != nil {
			return nil, err
		}
	}
	return jsonrpc.New(c)
}
