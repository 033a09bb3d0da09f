package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// step is one thing that a reader of a page does.
type step struct {
	line int    // in the page
	text string // a command of bash, or the content of a file
	file string // write the text to this file; empty: run it
	skip string // why it is not run
	exit int    // the exit code that the page promises, of the last command of a block
}

// Marks are comments of Markdown in front of a block of code, or anywhere on a line of their own
// for run; readers do not see them.
var (
	markFile = regexp.MustCompile(`^file: (\S+)$`)
	markSkip = regexp.MustCompile(`^not run: (.+)$`)
	markExit = regexp.MustCompile(`^exits (\d+)$`)
	markRun  = regexp.MustCompile(`(?s)^run: (.+)$`)
)

// steps reads what a page has its reader type, in order. Blocks of code are fenced or indented by
// four spaces. In one without a language or with sh, each paragraph that begins with a command is
// one; others are what commands print.
func steps(page string) (all []step, err error) {
	lines := strings.Split(page, "\n")
	var mark step
	for i := 0; i < len(lines); {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "<!-- "):
			begin := i
			for !strings.HasSuffix(lines[i], "-->") {
				if i++; i == len(lines) {
					return nil, fmt.Errorf("line %d: a comment without an end", begin+1)
				}
			}
			i++
			comment := strings.TrimSuffix(strings.TrimPrefix(strings.Join(lines[begin:i], "\n"), "<!-- "), "-->")
			if table := strings.TrimSpace(comment); table == "end" || strings.HasPrefix(table, "figures: ") || strings.HasPrefix(table, "settings: ") {
				continue // around a table that TestFigures or TestSettings holds
			}
			hidden, err := mark.add(strings.TrimSpace(comment))
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", begin+1, err)
			}
			if all, err = commands(all, hidden, step{line: begin + 1}); err != nil {
				return nil, err
			}
		case strings.HasPrefix(line, "```"):
			language, begin := strings.TrimPrefix(line, "```"), i+1
			for i++; i < len(lines) && lines[i] != "```"; i++ {
			}
			if i == len(lines) {
				return nil, fmt.Errorf("line %d: a block without an end", begin)
			}
			shell := language == "" || language == "sh"
			if all, err = block(all, lines[begin:i], shell, mark, begin+1); err != nil {
				return nil, err
			}
			i, mark = i+1, step{}
		case strings.HasPrefix(line, "    ") && (i == 0 || lines[i-1] == "" || strings.HasSuffix(lines[i-1], "-->")):
			begin, end := i, i
			for ; i < len(lines) && (lines[i] == "" || strings.HasPrefix(lines[i], "    ")); i++ {
				if lines[i] != "" {
					end = i + 1
				}
			}
			code := make([]string, 0, end-begin)
			for _, l := range lines[begin:end] {
				code = append(code, strings.TrimPrefix(l, "    "))
			}
			if all, err = block(all, code, true, mark, begin+1); err != nil {
				return nil, err
			}
			i, mark = end, step{}
		case line != "" && mark != (step{}):
			return nil, fmt.Errorf("line %d: a mark must stand in front of a block of code", i+1)
		default:
			i++
		}
	}
	return all, nil
}

// add adds what a comment says to a mark, or returns the commands that it has.
func (s *step) add(comment string) (hidden []string, err error) {
	if m := markFile.FindStringSubmatch(comment); m != nil {
		s.file = m[1]
	} else if m := markSkip.FindStringSubmatch(comment); m != nil {
		s.skip = m[1]
	} else if m := markExit.FindStringSubmatch(comment); m != nil {
		s.exit, _ = strconv.Atoi(m[1])
	} else if m := markRun.FindStringSubmatch(comment); m != nil {
		hidden = strings.Split(m[1], "\n")
	} else {
		err = fmt.Errorf("a comment is one of file: NAME, not run: REASON, exits CODE and run: COMMANDS, not %q", comment)
	}
	return hidden, err
}

// block adds the steps of one block of code, which begins in a line of its page.
func block(all []step, code []string, shell bool, mark step, line int) ([]step, error) {
	mark.line = line
	if mark.file != "" {
		mark.text = strings.Join(code, "\n") + "\n"
		return append(all, mark), nil
	}
	before := len(all)
	if shell {
		var err error
		for _, p := range paragraphs(code) {
			if first := firstWord(p.lines[0]); !tools[first] {
				continue
			}
			if all, err = commands(all, p.lines, step{line: line + p.at, skip: mark.skip}); err != nil {
				return nil, err
			}
		}
		if len(all) > before {
			all[len(all)-1].exit = mark.exit
		}
	}
	if len(all) == before && mark != (step{line: line}) {
		return nil, fmt.Errorf("line %d: a mark, but no command", line)
	}
	return all, nil
}

// commands adds each statement of a text in bash as a step like the one given.
func commands(all []step, lines []string, like step) ([]step, error) {
	text := strings.Join(lines, "\n") + "\n"
	parsed, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", like.line, err)
	}
	for i, s := range parsed.Stmts {
		begin, end := s.Pos().Offset(), uint(len(text))
		if i+1 < len(parsed.Stmts) {
			end = parsed.Stmts[i+1].Pos().Offset()
		}
		one := like
		one.line += int(s.Pos().Line()) - 1
		one.text = strings.TrimSpace(text[begin:end])
		all = append(all, one)
	}
	return all, nil
}

// paragraph is a part of a block between empty lines.
type paragraph struct {
	at    int // its first line in the block, from 0
	lines []string
}

var hereDocument = regexp.MustCompile(`<<-?\s*['"]?(\w+)['"]?`)

// paragraphs divides a block at its empty lines, but not within a here-document.
func paragraphs(code []string) (all []paragraph) {
	until, begun := "", false
	for i, l := range code {
		if until == "" && l == "" {
			begun = false
			continue
		}
		if !begun {
			all, begun = append(all, paragraph{at: i}), true
		}
		p := &all[len(all)-1]
		p.lines = append(p.lines, l)
		if until != "" && strings.TrimSpace(l) == until {
			until = ""
		} else if m := hereDocument.FindStringSubmatch(l); m != nil && until == "" {
			until = m[1]
		}
	}
	return all
}

var (
	assignment = regexp.MustCompile(`^[A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|\$\([^)]*\)|\S*)\s*`)
	word       = regexp.MustCompile(`^\(?(?:\./)?([A-Za-z_][\w-]*)(?:\s|$)`)
)

// firstWord returns the program that a line starts; "=" for a line that only sets variables.
func firstWord(line string) string {
	for rest := line; ; {
		set := assignment.FindString(rest)
		if set == "" {
			m := word.FindStringSubmatch(rest)
			if m == nil {
				return ""
			}
			return m[1]
		}
		if rest = rest[len(set):]; rest == "" {
			return "="
		}
	}
}

// tools are the programs that pages have their readers start. A line that begins with another
// word is what a command prints.
var tools = func() map[string]bool {
	all := map[string]bool{"=": true}
	for _, name := range append(strings.Fields(`cat cd cp curl docker echo export for git go jobs kill kubectl make man mkdir
		node npm npx openssl pg_dump pg_restore printf psql python3 rm sed sleep sudo systemctl tar umask wait`), programs...) {
		all[name] = true
	}
	return all
}()
