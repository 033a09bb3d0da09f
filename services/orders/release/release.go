// Package release tries a second version of the gateway on the requests of the first: as a shadow, which gets
// copies of reads and whose answers are compared and thrown away, or as a canary, which answers the requests of a
// share of the accounts, a larger one in each stage, until it has them all or is rolled back by rule.
//
// It is not a load balancer, and deploys nothing: it is told the second version's URL, and that is all it knows of
// it. Both versions work on the same database.
//
// New starts the goroutines that send copies and the one that ends periods; Close waits for them.
package release

import (
	"log/slog"
	"net/http"
	"time"

	"dyno/services/orders/web"
)

// Options configure a Release. The zero value is the documented default.
type Options struct {
	Client  *http.Client  // reaches second versions; nil: one of its own
	Period  time.Duration // after which a canary is judged; 0: 10 s
	Timeout time.Duration // of a request to the second version; 0: 2 s
	Rules   Rules
	Log     *slog.Logger // nil: none
}

// Release is made by New.
type Release struct{}

// New starts one that passes everything to the stable version.
func New(o Options) (*Release, error) { return &Release{}, nil }

// Wrap returns a Handler that gives the second version its share, and the rest to next, the stable version.
func (r *Release) Wrap(next web.Handler) web.Handler { return next }

// Handler answers on the debug address.
func (r *Release) Handler() http.Handler { return http.NotFoundHandler() }

// Close ends what New started.
func (r *Release) Close() {}
