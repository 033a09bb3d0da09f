package main

import (
	"net/http"
	"testing"

	"dyno/parts/guard/guardtest"
)

func TestDebugRefusesOtherSitesPages(t *testing.T) {
	address, stop, err := serveDebug("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	guardtest.Refuses(t, client, "GET", "http://"+address+"/debug/pprof/cmdline", "")
}
