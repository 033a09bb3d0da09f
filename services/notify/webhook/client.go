package webhook

import (
	"net"
	"net/http"
	"time"

	"dyno/parts/doors"
	"dyno/parts/hostport"
	"dyno/services/notify/http1"
)

// client sends requests: the seam "client". A redirect is an answer like any other. An error does
// not hold the URL's path and query, or is a *url.Error.
type client interface {
	Do(*http.Request) (*http.Response, error)
	CloseIdleConnections()
}

// newClients names the implementations of the seam "client".
var newClients = map[string]func(Options) client{
	"default": func(o Options) client {
		return &http.Client{Transport: newTransport(o), Timeout: o.Timeout, CheckRedirect: stay}
	},
	"reuse":  func(o Options) client { return newReusing(o) },
	"direct": newDirect,
}

func newReusing(o Options) *http.Client {
	t := newTransport(o)
	// The default keeps 2 idle connections per host and closes the rest, so 16 workers that come back
	// together make 14 new ones the next time.
	t.MaxIdleConnsPerHost = o.Workers
	t.MaxIdleConns = max(doors.Kept(maxIdleConns), o.Workers)
	return &http.Client{Transport: t, Timeout: o.Timeout, CheckRedirect: stay}
}

// direct sends small webhooks by HTTP/1.1 on its worker's goroutine, and those that http1 does not
// support as reuse does.
type direct struct {
	small *http1.Client
	other *http.Client
}

func newDirect(o Options) client {
	return &direct{
		small: &http1.Client{
			Dial: newDialer(o).DialContext, Timeout: o.Timeout, MaxIdle: max(doors.Kept(maxIdleConns), o.Workers), MaxHeader: maxAnswer, MaxAnswer: maxAnswer,
		},
		other: newReusing(o),
	}
}

func (d *direct) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.small.Do(req)
	if err == http1.ErrUnfit {
		return d.other.Do(req)
	}
	return resp, err
}

func (d *direct) CloseIdleConnections() {
	d.small.CloseIdleConnections()
	d.other.CloseIdleConnections()
}

// maxIdleConns bounds the connections kept for all receivers together, unless the process may have
// few files (parts/doors): each is a file descriptor and its buffers, with net/http two goroutines,
// for the 90 s that it is kept unused.
const maxIdleConns = 4096

func newTransport(o Options) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil                        // a proxy would connect to any address, past the guard
	t.MaxResponseHeaderBytes = maxAnswer // the default lets every receiver send 10 MB
	t.DialContext = newDialer(o).DialContext
	return t
}

func newDialer(o Options) *net.Dialer {
	d := &net.Dialer{Timeout: o.Timeout, KeepAlive: 30 * time.Second}
	if !o.AllowPrivate {
		d.Control = hostport.PublicOnly
	}
	return d
}

// stay does not follow a redirect: the answer counts as a failure.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
