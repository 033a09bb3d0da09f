package wire

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"dyno/lab/load/corpus"
)

// A body is sent with its length, or as one chunk; net/http reads both, and the numbers in them.
func TestEncodeBodies(t *testing.T) {
	for _, coding := range []string{"", "chunked"} {
		r := corpus.Request{Method: "POST", Path: "/a", Header: http.Header{}, Body: []byte("id=" + strings.Repeat("0", corpus.IDLength)), IDs: []int{3}}
		if coding != "" {
			r.Header["transfer-encoding"] = []string{coding}
		}
		out, err := Encode(&corpus.Corpus{Requests: []corpus.Request{r}, Classes: make([]corpus.Class, 1)}, "x")
		if err != nil {
			t.Fatal(err)
		}
		out[0].Number(255)
		all := bufio.NewReader(io.MultiReader(bytes.NewReader(out[0].Bytes), strings.NewReader("next")))
		got, err := http.ReadRequest(all)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(got.Body)
		rest, _ := io.ReadAll(all)
		if want := "id=00000000000000ff"; err != nil || string(body) != want || string(rest) != "next" || (got.ContentLength < 0) != (coding != "") {
			t.Errorf("%q: %q, then %q, %v", coding, body, rest, err)
		}
	}
}
