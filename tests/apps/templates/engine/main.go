// Renders templates with Go's own text/template and sprig: the results that ours must have.
//
// Reads lines {"name", "template", "data"} and writes, for each, {"name", "output"} or
// {"name", "error"}. With the argument `functions` it writes the names of sprig's functions, one a
// line.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

type testCase struct {
	Name     string `json:"name"`
	Template string `json:"template"`
	Data     any    `json:"data"`
}

type result struct {
	Name   string  `json:"name"`
	Output *string `json:"output,omitempty"`
	Error  *string `json:"error,omitempty"`
}

// maxLine is the longest case that is read.
const maxLine = 64 * 1024 * 1024

func main() {
	if len(os.Args) > 1 && os.Args[1] == "functions" {
		for name := range sprig.TxtFuncMap() {
			fmt.Println(name)
		}
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, maxLine)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		given, err := decode(lines.Text())
		if err != nil {
			fail(err)
		}
		if err := encoder.Encode(render(given)); err != nil {
			fail(err)
		}
	}
	if err := lines.Err(); err != nil {
		fail(err)
	}
	if err := out.Flush(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func decode(line string) (testCase, error) {
	var given testCase
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.UseNumber()
	if err := decoder.Decode(&given); err != nil {
		return given, fmt.Errorf("the line is not a case: %w: %s", err, line)
	}
	data, err := withNumbers(given.Data)
	given.Data = data
	return given, err
}

// withNumbers makes an int of each number that is written as one, and a float64 of the others.
func withNumbers(value any) (any, error) {
	var err error
	switch value := value.(type) {
	case map[string]any:
		for key, item := range value {
			if value[key], err = withNumbers(item); err != nil {
				return nil, err
			}
		}
	case []any:
		for index, item := range value {
			if value[index], err = withNumbers(item); err != nil {
				return nil, err
			}
		}
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			return value.Float64()
		}
		whole, err := value.Int64()
		return int(whole), err
	}
	return value, nil
}

func render(given testCase) result {
	output, err := execute(given)
	if err != nil {
		text := err.Error()
		return result{Name: given.Name, Error: &text}
	}
	return result{Name: given.Name, Output: &output}
}

func execute(given testCase) (output string, err error) {
	// What a function panics with is an error of the template; some panics come from elsewhere.
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	parsed, err := template.New("case").
		Option("missingkey=error").
		Funcs(sprig.TxtFuncMap()).
		Parse(given.Template)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	if err := parsed.Execute(&text, given.Data); err != nil {
		return "", err
	}
	return text.String(), nil
}
