package main

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Each benchmark of the claims runs once in a round, whichever flags its rows have.
func TestCommands(t *testing.T) {
	got := commands(`
    command: go test -run '^$' -bench 'A|B' ./bench/a
    command: go test -run '^$' -bench 'A|B' -benchmem ./bench/a
    command: go test -run '^$' -bench C -benchtime 20000x ./bench/c
    command: go test ./bench/d -run TestD
`)
	want := [][]string{
		strings.Fields("go test -run ^$ -bench A|B -benchmem -count=1 -benchtime 300ms ./bench/a"),
		strings.Fields("go test -run ^$ -bench C -benchtime 20000x -benchmem -count=1 ./bench/c"),
	}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %q, want %q", got, want)
	}
	claims, err := os.ReadFile("../../../docs/results/claims.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(commands(string(claims))); n < 5 {
		t.Errorf("the claims name %d", n)
	}
}

// A step has the median of each unit, and the second value from either end.
func TestSteps(t *testing.T) {
	v := values{}
	for n := range 10 {
		v.add("queue", fmt.Sprintf("goos: linux\nBenchmarkRoom/16-1-2   \t 100\t %d ns/op\t 0.5 parked\t 7 odd\nPASS\n", 10*(n+1)))
	}
	want := []map[string]any{{"name": "queue.Room/16-1", "ns_per_op": 55.0, "ns_per_op_interval": &[2]float64{20, 90}, "parked": 0.5, "parked_interval": &[2]float64{0.5, 0.5}}}
	if got := v.steps(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
