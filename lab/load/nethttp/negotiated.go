package nethttp

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"sync/atomic"
)

// Negotiated holds the protocol of the last answer. It is safe for concurrent use.
type Negotiated struct{ last atomic.Pointer[version] }

// version is a protocol that can be compared without building its text.
type version struct {
	major, minor int
	tls          uint16 // TLS version; 0: no TLS
}

// Observe stores the protocol of an answer.
func (s *Negotiated) Observe(answer *http.Response) {
	now := version{major: answer.ProtoMajor, minor: answer.ProtoMinor}
	if answer.TLS != nil {
		now.tls = answer.TLS.Version
	}
	if last := s.last.Load(); last == nil || *last != now {
		s.last.Store(&now)
	}
}

// String returns the protocol as in "HTTP/1.1" or "HTTP/2 over TLS 1.3". It is empty if there was
// no answer.
func (s *Negotiated) String() string {
	last := s.last.Load()
	if last == nil {
		return ""
	}
	out := fmt.Sprintf("HTTP/%d.%d", last.major, last.minor)
	if last.major > 1 {
		out = fmt.Sprintf("HTTP/%d", last.major)
	}
	if last.tls != 0 {
		out += " over " + tls.VersionName(last.tls)
	}
	return out
}
