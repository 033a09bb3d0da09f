package flows

import (
	"crypto/tls"
	"net/http"
	"sync"
)

// clients lends each running flow a connection of its own. The flow that begins next takes the one
// that was returned last, so that no more are open than flows have run concurrently.
type clients struct {
	make func() *http.Transport

	mu   sync.Mutex
	free []*http.Transport // guarded by mu
}

// maxHeader bounds an answer's header.
const maxHeader = 64 << 10 // bytes

func (d *Driver) newClients() (*clients, error) {
	settings, err := d.config.TLS.Config("", d.config.HTTP2)
	if err != nil {
		return nil, err
	}
	return &clients{make: func() *http.Transport { return transport(settings, d.config.HTTP2) }}, nil
}

func transport(settings *tls.Config, http2 bool) *http.Transport {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	protocols.SetUnencryptedHTTP2(http2)
	return &http.Transport{
		TLSClientConfig:        settings.Clone(),
		MaxConnsPerHost:        1,
		MaxIdleConnsPerHost:    1,
		DisableCompression:     true, // the target chooses the encoding of its answers
		MaxResponseHeaderBytes: maxHeader,
		Protocols:              protocols,
	}
}

func (c *clients) take() *http.Transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.free)
	if n == 0 {
		return c.make()
	}
	t := c.free[n-1]
	c.free = c.free[:n-1]
	return t
}

func (c *clients) put(t *http.Transport) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, t)
}

// close closes the connections; no flow runs any more.
func (c *clients) close() {
	for _, t := range c.free {
		t.CloseIdleConnections()
	}
}
