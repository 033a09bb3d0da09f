package live

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"dyno/lab/live/sides"
)

// compare shows any two results.
func (s *Server) compare(w http.ResponseWriter, r *http.Request) {
	p, err := s.beside(r.Context(), r.URL.Query().Get("a"), r.URL.Query().Get("b"))
	if err != nil {
		refuse(w, err)
		return
	}
	show(w, http.StatusOK, "compare", p)
}

// beside sets the results of two addresses side by side. Variants that one experiment measured in
// turns have a ratio with an interval; all others have only a quotient, with the reason.
func (s *Server) beside(ctx context.Context, refA, refB string) (*sides.Page, error) {
	a, err := s.side(ctx, "A", refA)
	if err != nil {
		return nil, err
	}
	b, err := s.side(ctx, "B", refB)
	if err != nil {
		return nil, err
	}
	p, err := sides.Beside(a, b)
	if err != nil || !p.InTurns() {
		return p, err
	}
	all, answer, err := s.reports.between(ctx, a.Name, a.Variant, b.Variant)
	if err != nil {
		return nil, err
	}
	p.Conclude(all, answer)
	return p, nil
}

// refuse responds with an error; an error of the address is the client's.
func refuse(w http.ResponseWriter, err error) {
	var wrong errSide
	if errors.As(err, &wrong) {
		show(w, http.StatusBadRequest, "fail", failPage{"This cannot be compared", err.Error()})
		return
	}
	fail(w, err)
}

// errSide is the error for a side with an invalid address.
type errSide struct{ text string }

// Error is the text of the error.
func (e errSide) Error() string { return e.text }

// splitRef finds the experiment and the variant in an address. Both may contain colons, so the
// longest name of an existing experiment counts.
func (s *index) splitRef(ref string) (name, variant string, err error) {
	if _, err = s.head(ref); err == nil {
		return ref, "", nil
	}
	for i := strings.LastIndexByte(ref, ':'); i > 0; i = strings.LastIndexByte(ref[:i], ':') {
		if _, other := s.head(ref[:i]); other == nil {
			return ref[:i], ref[i+1:], nil
		}
	}
	return "", "", err
}

// maxRef bounds the length of an address, in bytes; a folder's name has at most 255.
const maxRef = 1024

// side finds the result of an address. Without a variant it is the last one that has a result.
func (s *Server) side(ctx context.Context, letter, ref string) (*sides.Side, error) {
	if ref == "" || len(ref) > maxRef {
		return nil, errSide{"give two results to compare, as in /compare?a=NAME&b=NAME:VARIANT; the list of experiments lets you choose"}
	}
	name, variant, err := s.index.splitRef(ref)
	if err != nil {
		return nil, err
	}
	b, err := s.reports.of(ctx, name)
	if err != nil {
		return nil, err
	}
	out, err := sides.New(letter, name, variant, b.Report, b.speed)
	if err != nil {
		return nil, errSide{err.Error()}
	}
	return out, nil
}
