// This file applies overrides such as --set key=value to decoded files.

package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sim/scenarios/schema"
)

// override applies "key=value" to the decoded file.
func (c *checker) override(text string) {
	name, raw, ok := strings.Cut(text, "=")
	raw = strings.TrimSpace(raw)
	if strings.TrimSpace(name) == unsetKey && ok {
		c.unsetOverride(raw)
		return
	}
	parts, ok2 := splitKey(name)
	if !ok || !ok2 {
		c.Diagnostics = append(c.Diagnostics, Diagnostic{
			File:    schema.SetFile,
			Problem: schema.Quote(text) + " sets nothing",
			Remedy:  "write key=value, such as workload.sequence=8192",
		})
		return
	}

	set := Diagnostic{File: schema.SetFile}
	parts, ok = c.names.current(parts, set)
	if !ok {
		return
	}

	if path, m := c.findTable(parts); m != nil {
		value := c.parseOverride(path, raw)
		c.names.apply(value, parts, func(string) Diagnostic { return set })
		m[parts[len(parts)-1]] = value
		c.Overrides[path] = true
	}
}

// splitKey splits a dotted key into its parts. As in TOML, parts may be quoted. ok is false
// if name is not a key.
func splitKey(name string) ([]string, bool) {
	parts := []string{""}
	quote, closed := rune(0), false // closed: the part was quoted and has ended

	// quote is the quotation mark of the current part, or 0 outside quotes.
	for _, r := range strings.TrimSpace(name) {
		last := &parts[len(parts)-1]
		switch {
		case r == quote:
			quote, closed = 0, true
		case quote != 0:
			*last += string(r)
		case r == '.':
			parts, closed = append(parts, ""), false
		case (r == '"' || r == '\'') && strings.TrimSpace(*last) == "" && !closed:
			quote, *last = r, ""
		case closed && r != ' ':
			return nil, false
		default:
			*last += string(r)
		}
	}

	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts, quote == 0 && !slices.Contains(parts, "") && len(parts) <= schema.MaxKeyParts
}

// findTable returns the path of a key and the table that holds it, and creates missing
// tables. Parts that are numbers select elements of arrays of tables. If the key fits no
// table, findTable reports that and returns a nil table.
func (c *checker) findTable(parts []string) (path string, m map[string]any) {
	name := "" // the key in messages, with quotes if necessary
	for _, part := range parts {
		name = schema.JoinPath(name, part)
	}
	fail := func(problem, remedy string) (string, map[string]any) {
		fault := Diagnostic{File: schema.SetFile, Key: name, Problem: problem, Remedy: remedy}
		c.Diagnostics = append(c.Diagnostics, fault)
		return "", nil
	}
	m = c.Root

	// Replicas and jobs are selected by index.
	if parts[0] == "replica" && len(parts) > 1 {
		m, path = c.replicaTable(parts[1])
		parts = parts[2:]
		if m == nil || len(parts) == 0 {
			return fail("names no key of a replica",
				"write replica.INDEX.key=value, such as replica.0.compute_scale=1.2")
		}
	}

	if parts[0] == "job" && len(parts) > 1 {
		if m, path = c.jobTable(parts[1]); m == nil || len(parts) == 2 {
			return fail("names no key of a job that there is",
				"write job.INDEX.key=value, counting the jobs from 0, such as job.0.weight=2")
		}
		parts = parts[2:]
	}

	// Descend to the table. rows is the array of tables whose element the next part
	// selects.
	var rows []map[string]any
	for _, part := range parts[:len(parts)-1] {
		path = schema.JoinPath(path, part)
		if rows != nil {
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(rows) {
				return fail("names no table that there is",
					fmt.Sprintf("count the tables from 0 to %d", len(rows)-1))
			}
			m, rows = rows[i], nil
			continue
		}
		if rows = schema.Rows(m[part]); len(rows) > 0 {
			continue
		}
		rows = nil

		// Create the table if the file does not have it.
		sub, ok := m[part].(map[string]any)
		if _, taken := m[part]; taken && !ok {
			return fail(path+" is no table", "set "+path+" itself")
		}

		if !ok {
			sub = map[string]any{}
			m[part] = sub
			c.Overrides[path] = true
		}

		m = sub
	}

	// An array of tables is no key.
	if rows != nil {
		return fail("is a whole table", "set a key of it")
	}
	return schema.JoinPath(path, parts[len(parts)-1]), m
}

// parseOverride reads a value as TOML, or else as plain text.
func (c *checker) parseOverride(path, raw string) any {
	v := schema.DecodeValue(raw)
	if _, isText := v.(string); !isText && slices.Contains(textKeys, path) {
		return raw
	}
	return v
}

// textKeys are keys of free text. Their values are not parsed: --set name=123 sets the text
// "123".
var textKeys = []string{"name", "title", "workload.architecture.name"}

// replicaTable returns the table of the replica with an index, and its path. It adds the
// table if the file does not have it. The table is nil if the index or the file's replicas
// are invalid.
func (c *checker) replicaTable(index string) (map[string]any, string) {
	// The index is a number, and the file may have no replicas or an array of tables.
	n, err := strconv.ParseInt(index, 10, 64)
	if err != nil {
		return nil, ""
	}

	// Values of another type are reported when they are read.
	rows := schema.Rows(c.Root["replica"])
	if list, ok := c.Root["replica"].([]any); rows == nil &&
		c.Root["replica"] != nil &&
		(!ok || len(list) > 0) {
		return nil, ""
	}

	// A replica is identified by the key index, not by its position.
	i := slices.IndexFunc(rows, func(m map[string]any) bool { return m["index"] == n })
	if i < 0 {
		i = len(rows)
		rows = append(rows, map[string]any{"index": n})
		path := schema.JoinPath("replica", strconv.Itoa(i))
		c.Overrides[path] = true
		c.Overrides[schema.JoinPath(path, "index")] = true
	}

	c.Root["replica"] = rows
	return rows[i], schema.JoinPath("replica", strconv.Itoa(i))
}
