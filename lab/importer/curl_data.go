package importer

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

func (c *curlReader) file(name string) (string, error) {
	if name == "-" {
		return "", errors.New("it comes from stdin, which is not known")
	}
	b, err := c.open(name)
	if err != nil {
		return "", fmt.Errorf("its file cannot be read: %w", err)
	}
	return string(b), nil
}

// post appends data to the body, after a separator if there is data already.
func (c *curlReader) post(data, separator string) {
	if c.data != "" {
		c.data += separator
	}
	c.data += data
	c.posts = true
}

// body adds data. It reads @FILE and, unless the data is binary, removes line ends and NULs, as
// curl does.
func (c *curlReader) body(value, separator string, binary bool) error {
	if name, file := strings.CutPrefix(value, "@"); file {
		text, err := c.file(name)
		if err != nil {
			c.refuse = "its body cannot be read"
			return err
		}
		if value = text; !binary {
			value = strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(value)
		}
	}
	c.post(value, separator)
	return nil
}

// encoded returns data of --data-urlencode: content, =content, name=content, @file, name@file. curl escapes all but
// letters, digits and -._~, and a space as +.
func (c *curlReader) encoded(value string) (string, error) {
	name, content, named := strings.Cut(value, "=")
	if !named {
		var file bool
		if name, content, file = strings.Cut(value, "@"); !file {
			return url.QueryEscape(value), nil
		}
		text, err := c.file(content)
		if err != nil {
			c.refuse = "its data cannot be read"
			return "", err
		}
		content = text
	}
	if name != "" {
		name += "="
	}
	return name + url.QueryEscape(content), nil
}

// inQuery adds data of --url-query; data after a + stays as it is.
func (c *curlReader) inQuery(value string) error {
	if plain, ok := strings.CutPrefix(value, "+"); ok {
		c.query = append(c.query, plain)
		return nil
	}
	data, err := c.encoded(value)
	if err == nil {
		c.query = append(c.query, data)
	}
	return err
}

// list reads the value of --url: a URL, or @FILE with URLs, which are not patterns.
func (c *curlReader) list(value string) error {
	name, file := strings.CutPrefix(value, "@")
	if !file {
		c.urls = append(c.urls, curlTarget{text: value})
		return nil
	}
	text, err := c.file(name)
	if err != nil {
		c.refuse = "its URLs cannot be read"
		return err
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			c.urls = append(c.urls, curlTarget{text: line, raw: true})
		}
	}
	return nil
}
