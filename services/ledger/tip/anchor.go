package tip

import (
	"errors"
	"fmt"
	"time"

	"dyno/services/ledger/servers"
	"dyno/services/ledger/servers/response"
)

// AnchorFinder asks servers for anchors. All fields but Hint are required.
type AnchorFinder struct {
	Servers []*servers.Server
	Pool    *servers.Pool // of these servers
	Timeout time.Duration // without an answer, or without a quorum
	Hint    string        // how to wait longer: what follows the cause in errors of Timeout
	// Wrong receives each answer that is wrong, after its fault is recorded. Several goroutines
	// call it.
	Wrong func(server string, a *response.Answer, why error)
}

// ErrDisagree means that no hash has a majority of servers.
var ErrDisagree = errors.New("the servers do not agree")

// ErrContradiction is a fault of a server that gives several hashes for a ledger.
var ErrContradiction = errors.New("another hash than the server's most frequent one for the ledger")

// Stalled returns the error when no server answers within Timeout.
func (f *AnchorFinder) Stalled() error { return fmt.Errorf("no answer within %v%s", f.Timeout, f.Hint) }
