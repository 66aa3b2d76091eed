package mapping

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// fileMapping is the name of a file with one line per rank.
type fileMapping string

// parseFile accepts every text.
func parseFile(text string) Mapping { return fileMapping(text) }

// Place returns the endpoints that the file lists.
func (f fileMapping) Place(_ context.Context, p *Problem, _ Options) (*Placement, error) {
	endpoints, read := p.Files[string(f)]
	switch n := p.Ranks(); {
	case !read:
		return nil, fmt.Errorf("it is no order of dimensions, assigns no axes and is no file that was read; want one such as %s", Default)
	case len(endpoints) != n:
		return nil, fmt.Errorf("it lists %d endpoints for %d ranks; want a line for each rank", len(endpoints), n)
	}
	return &Placement{At: endpoints}, nil
}

// ReadFile returns the endpoints in a file with one line per rank. Text after # and empty lines
// are ignored. An endpoint is a number, or a name that number accepts. It fails for a line
// without an endpoint.
func ReadFile(data []byte, number func(name string) (int, bool)) ([]int, error) {
	var list []int
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		text, _, _ = strings.Cut(text, "#")
		if text = strings.TrimSpace(text); text == "" {
			continue
		}

		// A name takes precedence over a number.
		e, ok := number(text)
		if n, err := strconv.Atoi(text); !ok && err == nil && n >= 0 {
			e, ok = n, true
		}
		if !ok {
			return nil, fmt.Errorf("line %d names no endpoint", line)
		}
		list = append(list, e)
	}

	return list, nil
}
