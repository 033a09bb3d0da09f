package deliveries

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dyno/lab/load/corpus"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

type receipt struct {
	seq uint64
	at  int64
}

func collect(text, run string) (got []receipt, err error) {
	err = follow(strings.NewReader(text), []byte(run), func(seq uint64, at int64) { got = append(got, receipt{seq, at}) })
	return got, err
}

func TestFollow(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []receipt
		err      string
	}{
		{name: "own lines only", in: "aa-00000000000000ff 12\nbb-0000000000000001 13\naa-0000000000000001 14\n",
			want: []receipt{{255, 12}, {1, 14}}, err: "ended its stream of receipts after 3 lines"},
		{name: "a foreign id is ignored", in: "anything-at-all 1\n", err: "after 1 lines"},
		{name: "no time", in: "aa-0000000000000001\n", err: "receipt 1: "},
		{name: "bad time", in: "aa-0000000000000001 1e3\n", err: "not a time"},
		{name: "endless time", in: "aa-0000000000000001 1111111111111111111\n", err: "not a time"},
		{name: "bad digits", in: "aa-00000000000000FF 1\n", err: "hexadecimal digits"},
		{name: "cut off", in: "aa-0000000000000001 1\naa-00", want: []receipt{{1, 1}}, err: "receipt 2: EOF"},
		{name: "the sink's own complaint", in: "error: the reader fell behind\n", err: "the sink says: the reader fell behind"},
		{name: "long", in: strings.Repeat("x", maxLine+1) + " 1\n", err: "at most"},
		{name: "endless", in: strings.Repeat("x", 1<<17), err: "buffer full"},
	} {
		got, err := collect(tt.in, "aa")
		if fmt.Sprint(got) != fmt.Sprint(tt.want) || err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %v, %v; want %v and an error with %q", tt.name, got, err, tt.want, tt.err)
		}
	}
}

func TestSequenceNumbersRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := receipt{rapid.Uint64().Draw(t, "seq"), rapid.Int64Range(0, 1e18-1).Draw(t, "at")}
		id := make([]byte, corpus.IDLength)
		corpus.PutID(id, want.seq)
		got, _ := collect(fmt.Sprintf("run-%s %d\n", id, want.at), "run")
		if len(got) != 1 || got[0] != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestFollowDoesNotAllocateByLine(t *testing.T) {
	text := bytes.Repeat([]byte("aa-00000000000000ff 1234567890\n"), 1000)
	allocs := testing.AllocsPerRun(10, func() { follow(bytes.NewReader(text), []byte("aa"), func(uint64, int64) {}) })
	if allocs > 10 {
		t.Errorf("%v allocations for 1,000 lines", allocs)
	}
}

func TestDial(t *testing.T) {
	defer goleak.VerifyNone(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("run") != "aa" {
			http.Error(w, "which run?", http.StatusBadRequest)
			return
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer srv.Close()
	if _, err := Dial(t.Context(), srv.URL+"/receipts", "aa"); err == nil || !strings.Contains(err.Error(), "which run?") {
		t.Errorf("a refusal gave %v", err)
	}
	s, err := Dial(t.Context(), srv.URL+"/receipts?run=aa", "aa")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Follow(ctx, nil); err != nil { // the stream is quiet: only ctx can end it
		t.Errorf("Follow after the end of ctx: %v", err)
	}
}

func FuzzFollow(f *testing.F) {
	f.Add("aa-00000000000000ff 12\n")
	f.Fuzz(func(t *testing.T, s string) { collect(s, "aa") })
}
