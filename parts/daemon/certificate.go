package daemon

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// certificate is a certificate and its key in files. It loads them again when they change, so that
// a renewed one is served without a restart.
type certificate struct {
	cert, key string // names of the files

	pair atomic.Pointer[tls.Certificate]

	mu      sync.Mutex     // guards the fields below; a handshake that finds it locked does not look
	log     *slog.Logger   // nil before the process has one
	read    [2]os.FileInfo // the files when they were last read
	checked time.Time
}

// checkEvery is how frequently handshakes look whether the files have changed.
const checkEvery = time.Second

func newCertificate(cert, key string) (*certificate, error) {
	c := &certificate{cert: cert, key: key}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("loading --tls-cert and --tls-key: %w", err)
	}
	return c, nil
}

// load reads the files. The caller holds mu, or is newCertificate.
func (c *certificate) load() error {
	c.checked = time.Now()
	now, err := c.stat()
	if err != nil {
		return err
	}
	c.read = now // a pair that does not match is not read again until a file changes
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err == nil {
		c.pair.Store(&pair)
	}
	return err
}

func (c *certificate) stat() (now [2]os.FileInfo, err error) {
	var errs [2]error
	for i, name := range []string{c.cert, c.key} {
		now[i], errs[i] = os.Stat(name)
	}
	return now, errors.Join(errs[:]...)
}

// current is tls.Config's GetCertificate.
func (c *certificate) current(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c.mu.TryLock() {
		defer c.mu.Unlock()
		c.look()
	}
	return c.pair.Load(), nil
}

// look loads the files again if they have changed. The caller holds mu.
func (c *certificate) look() {
	if time.Since(c.checked) < checkEvery {
		return
	}
	c.checked = time.Now()
	now, err := c.stat()
	if err != nil || c.same(now) {
		return // a file that is being replaced is there at the next look
	}
	switch err := c.load(); {
	case err != nil:
		c.log.Warn("the certificate's files have changed and cannot be loaded; the one of before is served", "error", err)
	default:
		c.log.Info("serving the certificate that is in the files now", "file", c.cert)
	}
}

// same reports whether the files are those that were read.
func (c *certificate) same(now [2]os.FileInfo) bool {
	for i, was := range c.read {
		if !os.SameFile(was, now[i]) || !was.ModTime().Equal(now[i].ModTime()) || was.Size() != now[i].Size() {
			return false
		}
	}
	return true
}
