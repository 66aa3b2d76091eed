// This file declares conditions, which state when a key is used, and parses them from
// tags.

package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Condition states when a key or table is used.
type Condition struct {
	// Keys are the keys on which the condition depends. It is not checked while one of them is invalid.
	Keys []string
	// Holds reports whether the condition holds for the current values.
	Holds func() bool
	// NotUsedBy returns the reason why the key is not used, such as `kind "x"`. It follows the
	// words "is not used by" in messages.
	NotUsedBy func() string
	// Hint states how to make the condition hold, such as `set kind = "x"`.
	Hint string
	// Replacement is the complete remedy if it is neither to leave the key out nor Hint;
	// "" if it is.
	Replacement string

	// terms are conditions combined by AllOf. The first one that does not hold provides the
	// messages.
	terms []*Condition
}

// Applies reports whether the condition holds. A nil condition always holds.
func (c *Condition) Applies() bool { return c == nil || c.Holds() }

// remedy states how to correct a key that is not used.
func (c *Condition) remedy() string {
	for _, one := range c.terms {
		if !one.Holds() {
			return one.remedy()
		}
	}
	if c.Replacement != "" {
		return c.Replacement
	}
	return "leave it out, or " + c.Hint
}

// AllOf is the conjunction of conditions. Messages come from the first condition that
// does not hold.
func AllOf(all ...*Condition) *Condition {
	failing := func() *Condition {
		for _, one := range all {
			if !one.Holds() {
				return one
			}
		}
		return nil
	}
	c := &Condition{
		terms: all, Hint: all[len(all)-1].Hint,
		Holds:     func() bool { return failing() == nil },
		NotUsedBy: func() string { return failing().NotUsedBy() },
	}
	for _, one := range all {
		c.Keys = append(c.Keys, one.Keys...)
	}
	return c
}

// ParseCondition parses a condition of a tag (see the package comment) for a table at
// path. It returns nil for "".
func (s *Schema) ParseCondition(path, expr string) *Condition {
	if expr == "" {
		return nil
	}
	// Conditions are cached, because many keys share one.
	known := path + " " + expr
	if c, ok := s.conditions[known]; ok {
		return c
	}
	var all []*Condition
	for term := range strings.SplitSeq(expr, "&") {
		all = append(all, s.parseTerm(path, strings.TrimSpace(term)))
	}
	c := all[0]
	if len(all) > 1 {
		c = AllOf(all...)
	}
	s.conditions[known] = c
	return c
}

// parseTerm parses one term of a condition: KEY=A|B, KEY~A|B or NAME(A|B), as in the package
// comment.
func (s *Schema) parseTerm(path, text string) *Condition {
	i := strings.IndexAny(text, "=~")
	if i < 0 {
		// A term without an operator is a named condition with arguments.
		name, rest, _ := strings.Cut(text, "(")
		var args []string
		if rest = strings.TrimSuffix(rest, ")"); rest != "" {
			args = strings.Split(rest, "|")
		}
		build, ok := s.names.Conditions[name]
		if !ok {
			panic(fmt.Sprintf("schema: %s: no condition %q", path, text))
		}
		return build(s, args)
	}
	// Other terms compare a key with texts.
	name, values := text[:i], strings.Split(text[i+1:], "|")
	keyPath := name
	if !strings.Contains(name, ".") {
		keyPath = path + "." + name
	}
	c := &Condition{Keys: []string{keyPath}}
	if text[i] == '=' {
		c.Holds = func() bool { return slices.Contains(values, s.valueText(keyPath)) }
		quote := QuotedList
		if values[0] == "true" || values[0] == "false" { // a bool is written without quotes
			quote = func(words []string) string { return words[0] }
		}
		c.NotUsedBy = func() string {
			return s.label(keyPath) + " " + quote([]string{Clip(s.valueText(keyPath), maxQuotedBytes)})
		}
		c.Hint = "set " + name + " = " + quote(values)
		return c
	}

	// The operator is ~: the value of the key is a list.
	c.Holds = func() bool {
		k := s.Key(keyPath)
		return k != nil && slices.ContainsFunc(k.Field(onlyElement).Interface().([]string), func(one string) bool { return slices.Contains(values, one) })
	}
	_, last := CutLast(keyPath)
	c.NotUsedBy = func() string { return "the " + last + " that are listed" }
	c.Hint = "add " + QuotedList(values) + " to " + keyPath
	return c
}

// valueText returns the value of a key with a text or a bool, or "" if the key does not
// exist.
func (s *Schema) valueText(path string) string {
	if k := s.Key(path); k != nil {
		return fmt.Sprint(k.Field(onlyElement))
	}
	return ""
}

// label returns the name of a key in messages.
func (s *Schema) label(path string) string {
	if k := s.Key(path); k != nil {
		return k.label
	}
	_, last := CutLast(path)
	return last
}
