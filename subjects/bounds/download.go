package main

import "net/http"

var downloads = entry{
	Name: "download", Family: "generator", Truth: "generator",
	InWords: "x", Method: "GET", Path: "/d", Invisible: nil,
	plan: func(d *draw) func() (*service, error) {
		n := d.between("bytes", 1<<20, 4<<20)
		return func() (*service, error) {
			b := make([]byte, n)
			return serving("GET /d", func(w http.ResponseWriter, _ *http.Request) { w.Write(b) }), nil
		}
	},
}
