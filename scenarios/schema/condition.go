package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Condition says when a key or table is used.
type Condition struct {
	Keys []string // what it depends on; not judged while one of these is at fault
	OK   func() bool
	By   func() string // names what does not use it
	Want string        // what makes it used
	// Instead replaces leaving it out, and Want; "" does not.
	Instead string

	all []*Condition // of which the first that does not hold speaks
}

// Applies reports whether the condition holds; nil always does.
func (c *Condition) Applies() bool { return c == nil || c.OK() }

// remedy says what to do about a key that is not used.
func (c *Condition) remedy() string {
	for _, one := range c.all {
		if !one.OK() {
			return one.remedy()
		}
	}
	if c.Instead != "" {
		return c.Instead
	}
	return "leave it out, or " + c.Want
}

// All is the condition of what needs several, of which the first that does not hold speaks.
func All(all ...*Condition) *Condition {
	failing := func() *Condition {
		for _, one := range all {
			if !one.OK() {
				return one
			}
		}
		return nil
	}
	c := &Condition{
		all: all, Want: all[len(all)-1].Want,
		OK: func() bool { return failing() == nil },
		By: func() string { return failing().By() },
	}
	for _, one := range all {
		c.Keys = append(c.Keys, one.Keys...)
	}
	return c
}

// Condition returns what an expression of a table's tag says, nil of an empty one.
func (s *Schema) Condition(path, expr string) *Condition {
	if expr == "" {
		return nil
	}
	known := path + " " + expr
	if c, ok := s.conditions[known]; ok {
		return c
	}
	var all []*Condition
	for term := range strings.SplitSeq(expr, "&") {
		all = append(all, s.term(path, strings.TrimSpace(term)))
	}
	c := all[0]
	if len(all) > 1 {
		c = All(all...)
	}
	s.conditions[known] = c
	return c
}

func (s *Schema) term(path, text string) *Condition {
	i := strings.IndexAny(text, "=~")
	if i < 0 {
		name, rest, _ := strings.Cut(text, "(")
		var args []string
		if rest = strings.TrimSuffix(rest, ")"); rest != "" {
			args = strings.Split(rest, "|")
		}
		of, ok := s.names.Conditions[name]
		if !ok {
			panic(fmt.Sprintf("schema: %s: no condition %q", path, text))
		}
		return of(s, args)
	}
	name, values := text[:i], strings.Split(text[i+1:], "|")
	at := name
	if !strings.Contains(name, ".") {
		at = path + "." + name
	}
	c := &Condition{Keys: []string{at}}
	if text[i] == '=' {
		c.OK = func() bool { return slices.Contains(values, s.text(at)) }
		quote := QuotedList
		if values[0] == "true" || values[0] == "false" {
			quote = func(words []string) string { return words[0] }
		}
		c.By = func() string { return s.called(at) + " " + quote([]string{Clipped(s.text(at), 60)}) }
		c.Want = "set " + name + " = " + quote(values)
		return c
	}
	c.OK = func() bool {
		k := s.Key(at)
		return k != nil && slices.ContainsFunc(k.Field(0).Interface().([]string), func(one string) bool { return slices.Contains(values, one) })
	}
	_, last := CutLast(at)
	c.By = func() string { return "the " + last + " that are listed" }
	c.Want = "add " + QuotedList(values) + " to " + at
	return c
}

// text is the value of a key that is a text or a truth, "" where there is none.
func (s *Schema) text(path string) string {
	if k := s.Key(path); k != nil {
		return fmt.Sprint(k.Field(0))
	}
	return ""
}

// called is the name of a key in messages.
func (s *Schema) called(path string) string {
	if k := s.Key(path); k != nil {
		return k.called
	}
	_, last := CutLast(path)
	return last
}
