package main

import "net/http"

var downloads = entry{
	Name: "download", Family: "generator", Truth: "generator",
	InWords: "each answer is some MB that lie ready: to read it takes more than to write it",
	Method:  "GET", Path: "/archive", Invisible: nil,
	plan: func(d *draw) func() (*service, error) {
		size := d.between("bytes", 1<<20, 4<<20)
		return func() (*service, error) { return serving("GET /archive", make(tarball, size).send), nil }
	},
}

// tarball is a file that is kept in memory.
type tarball []byte

func (b tarball) send(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(b)
}
