package importer

import (
	"errors"
	"net/http"
	"strings"
)

// readURLs reads a list of URLs: one on each line, with # for comments.
func readURLs(text []byte) (*Load, error) {
	load, n := &Load{}, 0
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		n++
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || strings.HasPrefix(words[0], "#"):
		case len(words) > 1:
			load.Leave(n, "a line", "it has more than a URL; lines such as GET URL are read with --as vegeta")
		default:
			load.Add(Request{Line: n, Method: http.MethodGet, URL: words[0]})
		}
	}
	if len(load.Requests)+len(load.Left) == 0 {
		return nil, errors.New("it has no URL; write one on each line, as in http://127.0.0.1:8080/v1/orders")
	}
	return load, nil
}
