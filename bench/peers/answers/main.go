// Command answers asks chaind and go-ethereum the same random questions about the same chain, and
// prints each question whose answers differ: reads, logs, fees, calls and estimates with overrides,
// access lists, simulations, and traces with every tracer.
//
//	answers --chaind dyno-out/chaind --geth dyno-out/geth --genesis genesis.json --blocks chain.rlp
//
// The chain must be one that both take up, with the state of every block: of services/chain/testdata/
// archive by default. Two errors are equal if their codes are; their texts are counted. An answer that
// differs in a documented way counts as such (see deviations). The same seed asks the same questions.
// Exit code 1: an answer differs in another way.
//
// It is not for load, nor for what changes the chain. It owns no goroutine.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"dyno/bench/peers/callers"
	"dyno/bench/peers/ethnodes"
)

type options struct {
	chaind, geth, genesis, blocks string
	questions                     int
	seed                          uint64
	kinds                         string
	show                          int
}

func main() {
	var o options
	flag.StringVar(&o.chaind, "chaind", "dyno-out/chaind", "`file` of chaind's program")
	flag.StringVar(&o.geth, "geth", "dyno-out/geth", "`file` of geth's program, which make rivals builds")
	flag.StringVar(&o.genesis, "genesis", "services/chain/testdata/archive/genesis.json", "`file` of the chain's genesis")
	flag.StringVar(&o.blocks, "blocks", "services/chain/testdata/archive/chain.rlp", "`file` of its blocks")
	flag.IntVar(&o.questions, "questions", 10_000, "random questions")
	flag.Uint64Var(&o.seed, "seed", 1, "the `number` from which the questions follow")
	flag.StringVar(&o.kinds, "kinds", "", "comma-separated `kinds` of questions: "+strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")+"; empty: all")
	flag.IntVar(&o.show, "show", 20, "questions that are printed with their answers, at most")
	flag.Parse()
	callers.Main("answers", func(ctx context.Context) error { return o.run(ctx, os.Stdout) })
}

func (o options) nodes() (chaind, geth ethnodes.Node) {
	chaind = ethnodes.Chaind("chaind", o.chaind, "--set", "history=0")
	geth = ethnodes.Geth("geth", o.geth, "--syncmode", "full", "--gcmode", "archive", "--state.scheme", "hash")
	chaind.Archive, geth.Archive = true, true
	return chaind, geth
}

func (o options) run(ctx context.Context, out io.Writer) (err error) {
	chaind, geth := o.nodes()
	if err := ethnodes.Programs(chaind, geth); err != nil {
		return err
	}
	asked, err := chosen(o.kinds)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "answers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var served [2]*ethnodes.Served
	for i, n := range []ethnodes.Node{chaind, geth} {
		if _, err := n.Import(ctx, dir, o.genesis, o.blocks); err != nil {
			return err
		}
		if served[i], err = n.Serve(ctx, dir); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, served[i].Stop()) }()
	}
	d, err := newDice(ctx, served[1], o.seed)
	if err != nil {
		return fmt.Errorf("reading the chain: %w", err)
	}
	t := tally{out: out, show: o.show, methods: map[string]*counts{}, documented: map[string]int{}, texts: map[string]int{}}
	for range o.questions {
		method, params := asked[d.IntN(len(asked))](d)
		body := ethnodes.Body(method, params...)
		var answers [2]ethnodes.Answer
		for i, s := range served {
			if answers[i], err = s.Post(ctx, body); err != nil {
				return err
			}
		}
		if t.add(method, body, answers[0], answers[1]) {
			continue
		}
		again, err := served[1].Post(ctx, body)
		if err != nil {
			return err
		}
		t.differ(method, body, answers[0], answers[1], again)
	}
	return t.print()
}

type counts struct{ asked, errors, differ int }

type tally struct {
	out        io.Writer
	show       int
	methods    map[string]*counts
	documented map[string]int // by the reason
	texts      map[string]int // of errors that have one code: geth's, then chaind's
	differing  int
}

// add counts the answers to a question, and reports whether they are equal.
func (t *tally) add(method string, body []byte, chaind, geth ethnodes.Answer) bool {
	if t.methods[method] == nil {
		t.methods[method] = new(counts)
	}
	c := t.methods[method]
	c.asked++
	if geth.Error != nil {
		c.errors++
		if chaind.Error != nil && chaind.Error.Message == "the method failed" {
			fmt.Fprintf(t.out, "%s\n    both methods failed\n", body)
		}
		if chaind.Error != nil && chaind.Error.Code == geth.Error.Code && chaind.Error.Message != geth.Error.Message {
			t.texts[fmt.Sprintf("geth %.100q, chaind %.100q", geth.Error.Message, chaind.Error.Message)]++
		}
	}
	return len(compared(chaind, geth)) == 0
}

// differ counts answers that differ. Again is go-ethereum's second answer to the question.
func (t *tally) differ(method string, body []byte, chaind, geth, again ethnodes.Answer) {
	reason := deviation(method, body, chaind, geth)
	if len(compared(again, geth)) > 0 {
		reason = "go-ethereum's second answer was another one"
	}
	if reason != "" {
		t.documented[reason]++
		return
	}
	t.methods[method].differ++
	t.differing++
	if t.differing <= t.show {
		found := compared(chaind, geth)
		fmt.Fprintf(t.out, "%s\n", body)
		for _, text := range found[:min(5, len(found))] {
			fmt.Fprintf(t.out, "    %s\n", text)
		}
	}
}

// compared lists the places where two answers differ. The texts of errors may.
func compared(chaind, geth ethnodes.Answer) []string {
	if chaind.Error != nil && geth.Error != nil && chaind.Error.Code == geth.Error.Code {
		return differences("error.data", parse(chaind.Error.Data), parse(geth.Error.Data))
	}
	return append(differences("result", parse(chaind.Result), parse(geth.Result)), differences("error", chaind.Error, geth.Error)...)
}

// print prints the counts, and returns an error if an answer differs.
func (t *tally) print() error {
	total := counts{}
	for _, method := range slices.Sorted(maps.Keys(t.methods)) {
		c := t.methods[method]
		fmt.Fprintf(t.out, "%-44s %5d asked, %5d errors, %d differ\n", method, c.asked, c.errors, c.differ)
		total.asked, total.errors = total.asked+c.asked, total.errors+c.errors
	}
	for _, text := range slices.Sorted(maps.Keys(t.texts)) {
		fmt.Fprintf(t.out, "%d errors with another text: %s\n", t.texts[text], text)
	}
	for _, reason := range slices.Sorted(maps.Keys(t.documented)) {
		fmt.Fprintf(t.out, "%d documented deviations: %s\n", t.documented[reason], reason)
	}
	fmt.Fprintf(t.out, "%d questions, %d of them errors, %d answers differ\n", total.asked, total.errors, t.differing)
	if t.differing > 0 {
		return fmt.Errorf("%d answers differ", t.differing)
	}
	return nil
}

// parse reads a member of an answer; nil: it has none.
func parse(text json.RawMessage) (v any) {
	_ = json.Unmarshal(text, &v) // the answer has been read as JSON
	return v
}

// differences lists the places where two values of JSON differ.
func differences(path string, chaind, geth any) (out []string) {
	switch x := chaind.(type) {
	case map[string]any:
		if y, ok := geth.(map[string]any); ok {
			names := map[string]bool{}
			for name := range x {
				names[name] = true
			}
			for name := range y {
				names[name] = true
			}
			for _, name := range slices.Sorted(maps.Keys(names)) {
				_, has := x[name]
				if _, have := y[name]; has != have {
					out = append(out, fmt.Sprintf("%s.%s: chaind has it: %v, geth: %v", path, name, has, have))
					continue
				}
				out = append(out, differences(path+"."+name, x[name], y[name])...)
			}
			return out
		}
	case []any:
		if y, ok := geth.([]any); ok && len(x) == len(y) {
			for i := range x {
				out = append(out, differences(fmt.Sprintf("%s[%d]", path, i), x[i], y[i])...)
			}
			return out
		}
	case *ethnodes.Error:
		if y, ok := geth.(*ethnodes.Error); ok && (x == nil) == (y == nil) && (x == nil || x.Code == y.Code) {
			return nil
		}
	}
	a, b := text(chaind), text(geth)
	if a != b {
		out = append(out, fmt.Sprintf("%s: geth %.200s, chaind %.200s", path, b, a))
	}
	return out
}

func text(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(out)
}
