package nethttp

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"sync/atomic"
)

// Spoken keeps the protocol of the last answer. It is safe for concurrent use.
type Spoken struct{ last atomic.Pointer[spoken] }

// spoken is compared without building its text.
type spoken struct {
	major, minor int
	tls          uint16 // 0: none
}

// Heard enters an answer.
func (s *Spoken) Heard(answer *http.Response) {
	now := spoken{major: answer.ProtoMajor, minor: answer.ProtoMinor}
	if answer.TLS != nil {
		now.tls = answer.TLS.Version
	}
	if last := s.last.Load(); last == nil || *last != now {
		s.last.Store(&now)
	}
}

// String returns it as "HTTP/1.1" or "HTTP/2 over TLS 1.3"; empty: there was no answer.
func (s *Spoken) String() string {
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
