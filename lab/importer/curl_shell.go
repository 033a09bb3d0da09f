package importer

import (
	"errors"
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// shellWord is a word of a command as the shell passes it to the program.
type shellWord struct {
	text    string // if a part is unknown: the text before it
	unknown string // what the shell would have to compute, such as $TOKEN; empty: nothing
}

// known reports whether a word that the shell must compute begins with an option whose value is
// the rest of the word.
func (w shellWord) known() bool {
	if len(w.text) < 2 {
		return false
	}
	name := readOption(w.text).name
	return name != "" && takesValue[name]
}

// shellCommand is a command of the input.
type shellCommand struct {
	line  int
	words []shellWord
}

func (c *shellCommand) isCurl() bool {
	name := strings.ToLower(c.words[0].text)
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	return name == "curl" || name == "curl.exe"
}

// splitShell splits the input into commands, by the quoting of bash or of Windows.
func splitShell(text string) ([]shellCommand, error) {
	if strings.Contains(text, `^"`) || strings.Contains(text, "^\n") || strings.Contains(text, "^\r\n") {
		return splitWindows(text), nil
	}
	var lines []string
	for line := range strings.Lines(text) { // a prompt may have been pasted as well
		lines = append(lines, strings.TrimPrefix(line, "$ "))
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(strings.Join(lines, "")), "")
	if err != nil {
		var at syntax.ParseError
		if errors.As(err, &at) {
			return nil, fmt.Errorf("line %d: %s; is the whole command there, with its last quote?", at.Pos.Line(), at.Text)
		}
		return nil, fmt.Errorf("the command is not complete: %w", err)
	}
	var out []shellCommand
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		c := shellCommand{line: int(call.Pos().Line())}
		for _, w := range call.Args {
			for _, w := range braces(w) {
				c.words = append(c.words, shellValue(w))
			}
		}
		out = append(out, c)
		return false // a command inside a word is not a command of the input
	})
	return out, nil
}

// braces returns the words to which bash expands one with {a,b} or {1..3}; the word itself if they
// are too many.
func braces(w *syntax.Word) (out []*syntax.Word) {
	if !syntax.SplitBraces(w) {
		return []*syntax.Word{w}
	}
	for each, err := range expand.BracesSeq(nil, w) {
		if err != nil {
			return []*syntax.Word{w}
		}
		out = append(out, each)
	}
	return out
}

// shellValue removes a word's quotes.
func shellValue(w *syntax.Word) shellWord {
	var out shellWord
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			out.unknown = "a variable"
			if n.Param != nil {
				out.unknown = "$" + n.Param.Value
			}
		case *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst:
			out.unknown = "the output of a command"
		case *syntax.BraceExp: // they were too many
			out.unknown = "a long list of words"
		}
		return out.unknown == ""
	})
	if out.unknown != "" {
		if first, ok := w.Parts[0].(*syntax.Lit); ok && strings.HasPrefix(first.Value, "-") {
			out.text = first.Value
		}
		return out
	}
	text, err := expand.Literal(&expand.Config{NoUnset: true}, w)
	if err != nil {
		out.unknown = "a form of quoting"
	}
	out.text = text
	return out
}

// splitWindows splits commands that browsers copy for cmd.exe. A ^ makes the next character
// literal, or joins two lines. Programs then split their command line at spaces outside of double
// quotes, and \" is a quote.
func splitWindows(text string) []shellCommand {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var out []shellCommand
	var words []shellWord
	var now strings.Builder
	line, began, quoted, inside := 1, 1, false, false
	endWord := func() {
		if inside {
			words = append(words, shellWord{text: now.String()})
			now.Reset()
			inside = false
		}
	}
	endCommand := func() {
		endWord()
		if len(words) > 0 {
			out = append(out, shellCommand{began, words})
		}
		words, began = nil, line
	}
	for i := 0; i < len(text); i++ {
		c, literal := text[i], false
		if c == '^' && i+1 < len(text) {
			i++
			c, literal = text[i], true
		}
		switch {
		case c == '\n':
			line++
			switch {
			case literal && quoted && i+1 < len(text) && text[i+1] == '\n': // ^ and two line ends are one line end
				i, line = i+1, line+1
				now.WriteByte('\n')
			case literal:
			default:
				quoted = false
				endCommand()
			}
		case c == '&' && !literal && !quoted:
			endCommand()
		case c == '\\' && nextQuote(text[i+1:]) > 0:
			i += nextQuote(text[i+1:])
			now.WriteByte('"')
			inside = true
		case c == '"' && quoted && i+1 < len(text) && text[i+1] == '"':
			i++
			now.WriteByte('"')
		case c == '"':
			quoted, inside = !quoted, true
		case (c == ' ' || c == '\t') && !quoted:
			endWord()
		default:
			now.WriteByte(c)
			inside = true
		}
	}
	endCommand()
	return out
}

// nextQuote returns the length of a quote, also as ^", at the beginning of the text; 0: there is
// none.
func nextQuote(s string) int {
	switch {
	case strings.HasPrefix(s, `"`):
		return 1
	case strings.HasPrefix(s, `^"`):
		return 2
	}
	return 0
}
