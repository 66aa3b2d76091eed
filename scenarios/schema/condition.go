package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Condition says when a key or table is used.
type Condition struct {
	Keys      []string // what it depends on; not judged while one of these is at fault
	Holds     func() bool
	NotUsedBy func() string // names what does not use it
	Hint      string        // what makes it used
	// Replacement replaces leaving it out, and Want; "" does not.
	Replacement string

	terms []*Condition // of which the first that does not hold speaks
}

// Applies reports whether the condition holds; nil always does.
func (c *Condition) Applies() bool { return c == nil || c.Holds() }

// remedy says what to do about a key that is not used.
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

// AllOf is the condition of what needs several, of which the first that does not hold speaks.
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

// ParseCondition returns what an expression of a table's tag says, nil of an empty one.
func (s *Schema) ParseCondition(path, expr string) *Condition {
	if expr == "" {
		return nil
	}
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

func (s *Schema) parseTerm(path, text string) *Condition {
	i := strings.IndexAny(text, "=~")
	if i < 0 {
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
	name, values := text[:i], strings.Split(text[i+1:], "|")
	keyPath := name
	if !strings.Contains(name, ".") {
		keyPath = path + "." + name
	}
	c := &Condition{Keys: []string{keyPath}}
	if text[i] == '=' {
		c.Holds = func() bool { return slices.Contains(values, s.valueText(keyPath)) }
		quote := QuotedList
		if values[0] == "true" || values[0] == "false" {
			quote = func(words []string) string { return words[0] }
		}
		c.NotUsedBy = func() string { return s.label(keyPath) + " " + quote([]string{Clip(s.valueText(keyPath), 60)}) }
		c.Hint = "set " + name + " = " + quote(values)
		return c
	}
	c.Holds = func() bool {
		k := s.Key(keyPath)
		return k != nil && slices.ContainsFunc(k.Field(0).Interface().([]string), func(one string) bool { return slices.Contains(values, one) })
	}
	_, last := CutLast(keyPath)
	c.NotUsedBy = func() string { return "the " + last + " that are listed" }
	c.Hint = "add " + QuotedList(values) + " to " + keyPath
	return c
}

// valueText is the value of a key that is a text or a truth, "" where there is none.
func (s *Schema) valueText(path string) string {
	if k := s.Key(path); k != nil {
		return fmt.Sprint(k.Field(0))
	}
	return ""
}

// label is the name of a key in messages.
func (s *Schema) label(path string) string {
	if k := s.Key(path); k != nil {
		return k.label
	}
	_, last := CutLast(path)
	return last
}
