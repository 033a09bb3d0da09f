package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"dyno/services/notify/sink"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// Every webhook is signed and of the right size, whatever the assembly, and a stop is no error.
func TestPosts(t *testing.T) {
	for _, o := range []options{{assembly: "baseline", inFlight: 2, batch: 1, payload: 10}, {assembly: "tuned", inFlight: 3, batch: 5, payload: 1000}} {
		others := goleak.IgnoreCurrent()
		s, err := sink.New(sink.Config{Secret: secret})
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.ServeHTTP(w, r)
			if s.Stats().Webhooks >= 20 {
				end()
			}
		}))
		o.to, o.secret = receiver.URL, secret
		if err := o.run(ctx, io.Discard); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
		receiver.Close()
		got := s.Stats()
		if got.Webhooks < 20 || got.Notices != got.Webhooks*int64(o.batch) || got.BadSignature+got.Malformed+got.Duplicates > 0 {
			t.Errorf("%+v: %+v", o, got)
		}
		end()
		goleak.VerifyNone(t, others)
	}
}

func TestStopsWhenRefused(t *testing.T) {
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	defer receiver.Close()
	o := options{to: receiver.URL, secret: secret, assembly: "tuned", inFlight: 4, batch: 1, payload: 1}
	if err := o.run(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), "410") {
		t.Errorf("error %v", err)
	}
	o.assembly = "gruop"
	if err := o.run(t.Context(), io.Discard); err == nil {
		t.Error("an assembly that is not there was taken")
	}
}

func TestCheck(t *testing.T) {
	good := options{to: "http://x", secret: secret, inFlight: 1, batch: 1, payload: 1}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*options){
		"to": func(o *options) { o.to = "" }, "secret": func(o *options) { o.secret = "" }, "in-flight": func(o *options) { o.inFlight = 0 },
		"batch": func(o *options) { o.batch = 1001 }, "payload": func(o *options) { o.payload = 0 },
	} {
		o := good
		if spoil(&o); o.check() == nil {
			t.Errorf("a bad %s was accepted", name)
		}
	}
}
