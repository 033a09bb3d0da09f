package document

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parseYAML returns the documents of a file, at most two.
func parseYAML(b []byte) (documents []*yaml.Node, err error) {
	decoder := yaml.NewDecoder(bytes.NewReader(b))
	for len(documents) < 2 {
		n := &yaml.Node{}
		switch err := decoder.Decode(n); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return nil, err
		}
		documents = append(documents, n)
	}
	return documents, nil
}

// locate returns the line of a syntax error. The YAML package names the line on which the
// enclosing mapping or list begins, which for a scenario is often the first. The faulty line is
// the last line of the shortest prefix of the file that fails with the same message.
func locate(b []byte, err error) (line int, message string) {
	from, message := reported(err)
	ends := lineEnds(b)
	from = min(from, len(ends))
	more := sort.Search(len(ends)-from, func(i int) bool {
		_, err := parseYAML(b[:ends[from+i-1]])
		if err == nil {
			return false
		}
		_, same := reported(err)
		return same == message
	})
	return from + more, message
}

// advice names the usual cause of a syntax error.
func advice(b []byte, line int, message string) string {
	ends := lineEnds(b)
	from := 0
	if line > 1 && line-2 < len(ends) {
		from = ends[line-2]
	}
	text := string(b[from:ends[min(line, len(ends))-1]])
	switch indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]; {
	case strings.Contains(indent, "\t"):
		return "the line begins with a tab; YAML is indented with spaces"
	case strings.Contains(message, "did not find expected key"):
		return "the fields of one mapping begin in the same column, and text that holds : # , { } [ or ] needs quotes"
	}
	return "text that holds : # , { } [ or ] needs quotes"
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// reported splits an error of the YAML package into its line, at least 1, and its text.
func reported(err error) (line int, message string) {
	message = strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		line, _ = strconv.Atoi(m[1])
		message = message[len(m[0]):]
	}
	return max(1, line), message
}

// lineEnds returns the offset after each line; there is at least one.
func lineEnds(b []byte) []int {
	var ends []int
	for i, c := range b {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	if len(ends) == 0 || ends[len(ends)-1] < len(b) {
		ends = append(ends, len(b))
	}
	return ends
}
