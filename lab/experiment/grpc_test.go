package experiment

import (
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"

	"dyno/lab/scenario/parser"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
)

// A load of gRPC calls on a server with reflection, as a scenario has it.
func TestLoadOfGRPC(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	reflection.Register(s)
	var serving sync.WaitGroup
	serving.Go(func() { s.Serve(l) })
	defer serving.Wait()
	defer s.Stop()
	sc, err := parser.Parse("x.yaml", fmt.Appendf(nil, `
name: health
mode: load
target: {url: "http://%[1]s"}
load:
  kind: grpc
  url: http://%[1]s
  call: grpc.health.v1.Health/Check
  check: {json: [{path: status, equals: SERVING}]}
  connections: 2
  pipeline: 4
  schedule: {kind: constant, rate: 50}
measure: {length: 400ms}
`, l.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	exp, err := Execute(t.Context(), Options{Scenario: sc, Out: filepath.Join(t.TempDir(), "out"), Depth: Quick, NoPMQoS: true})
	if err != nil {
		t.Fatal(err)
	}
	r := exp.Runs[0]
	if r.Totals.Offered != 20 || r.Totals.Completed != 20 || r.Totals.Failed != 0 || r.Load.Kind != "grpc" || r.Load.Protocol != "gRPC over HTTP/2" {
		t.Errorf("%+v %+v, warnings %q", r.Load, r.Totals, r.Warnings)
	}
}
