package corpus

import (
	"strings"
	"testing"
)

// The first answer is kept as one line without control characters and secrets.
func TestRefusals(t *testing.T) {
	var none Refusals
	if none.Notes() != nil || !none.Empty() {
		t.Errorf("without an answer: %q", none.Notes())
	}
	for _, c := range []struct {
		status         int
		location, body string
		want           string
	}{
		{422, "", "{\"quantity\":\r\n\t\"must be > 0\"}", `422 Unprocessable Entity: {"quantity": "must be > 0"}`},
		{503, "", "\x1b]0;owned\x07 busy \x00\xff", "503 Service Unavailable: ]0;owned busy"},
		{401, "", `{"password":"hunter2"}`, `401 Unauthorized: {"password":"***"}`},
		{500, "", "", "500 Internal Server Error"},
		{555, "", "odd", "555: odd"},
		{302, "/login?next=1", "moved", "302, a redirect to /login; list the status in check.status if that is a success, or write follow: 1"},
		{400, "", strings.Repeat("é", 200), "400 Bad Request: " + strings.Repeat("é", 60) + "..."},
	} {
		var r Refusals
		r.Add(c.status, c.location, []byte(c.body))
		r.Add(418, "", []byte("later"))
		if got := r.First(); got != c.want {
			t.Errorf("%d %q: %q, want %q", c.status, c.body, got, c.want)
		}
		if got := r.Notes(); len(got) != 1 || got[0] != "answers that failed: 2, the first: "+c.want {
			t.Errorf("notes %q", got)
		}
	}
}
