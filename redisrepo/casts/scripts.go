package casts

import (
	"embed"

	"frontpage/redisrepo/wire"
)

//go:embed *.lua
var luaFiles embed.FS

var applyCastsScript = wire.Script(luaFiles, "apply_casts.lua")
