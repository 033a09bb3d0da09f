package experiment

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"dyno/lab/load"
	"dyno/lab/record"
	"dyno/lab/scenario"
)

func (b *bench) corpus(s *stand, l scenario.Load, u *url.URL, run string) (*load.Corpus, error) {
	m := l.Method
	if m == "" {
		m = "GET"
	}
	return &load.Corpus{Requests: []load.Request{{Method: m, Path: u.RequestURI(), Header: http.Header{}, Body: []byte(l.Body)}}, Classes: []load.Class{{}}}, nil
}
func (b *bench) driveJob(ctx context.Context, s *stand, t scenario.Target, r *record.Run, d *drive) error {
	return errors.New("no")
}
