package page

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// All parts of the page are in it.
func TestHandler(t *testing.T) {
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, httptest.NewRequest("GET", "/debug/notify/", nil))
	page := w.Body.String()
	for _, part := range []string{"<title>notifyd</title>", "const live =", "const flows =", "const look =", "#workers {", "--ground"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if strings.Contains(page, "/*s") || w.Code != 200 {
		t.Errorf("status %d, or a place in the page that nothing fills", w.Code)
	}
}
