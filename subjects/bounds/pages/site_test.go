package pages

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestFilesThatAreGoneAreAnError(t *testing.T) {
	s, err := newWebsite(2, 100)
	if err != nil {
		t.Fatal(err)
	}
	s.close()
	w := httptest.NewRecorder()
	s.show(w, nil)
	if w.Code != http.StatusInternalServerError {
		t.Errorf("status %d", w.Code)
	}
}
