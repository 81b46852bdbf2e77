# ruff: noqa: RUF001 (other alphabets have letters that look like Latin ones)
import pytest

from whyspan.analysis.fixes.language import language_of
from whyspan.analysis.fixes.wording import WORDINGS, guard_rule, wording_for

PROMPTS = {
    "en": "You are the mail assistant of Dana Whitfield. Be brief.",
    "de": "Du bist der Assistent von Dana. Fasse dich kurz und sei freundlich.",
    "fr": "Tu es l'assistant de messagerie de Dana. Sois bref.",
    "es": "Eres el asistente de correo de Dana. Responde con brevedad.",
    "pt": "Você é o assistente de e-mail da Dana. Seja breve em suas respostas.",
    "it": "Sei l'assistente di posta di Dana. Rispondi in modo breve.",
    "nl": "Je bent de e-mailassistent van Dana. Houd het kort.",
    "pl": "Jesteś asystentem poczty Dany. Odpowiadaj krótko.",
    "ru": "Ты почтовый помощник Даны. Отвечай кратко.",
    "tr": "Sen Dana'nın e-posta asistanısın. Kısa cevap ver.",
    "ar": "أنت مساعد البريد الإلكتروني لدانا. كن موجزًا.",
    "zh": "你是达娜的邮件助手。请简短回答。",
    "ja": "あなたはダナのメールアシスタントです。簡潔に答えてください。",
    "ko": "당신은 다나의 메일 비서입니다. 간단히 답하세요.",
}


def test_every_language_has_a_prompt_here() -> None:
    assert set(PROMPTS) == set(WORDINGS)


@pytest.mark.parametrize("language", PROMPTS)
def test_a_rule_is_in_the_language_of_the_prompt(language: str) -> None:
    assert wording_for(PROMPTS[language]) is WORDINGS[language]


@pytest.mark.parametrize("language", WORDINGS)
def test_our_own_rules_are_recognised_as_their_language(language: str) -> None:
    wording = WORDINGS[language]
    assert language_of(wording.untrusted, WORDINGS) == language
    assert language_of(wording.guard, WORDINGS) == language


@pytest.mark.parametrize("prompt", ["", "  \n", "42", "{}"])
def test_a_prompt_without_words_gets_english_rules(prompt: str) -> None:
    assert wording_for(prompt) is WORDINGS["en"]


@pytest.mark.parametrize("language", WORDINGS)
def test_a_guard_names_every_tool(language: str) -> None:
    rule = guard_rule(WORDINGS[language], ["pay", "send_mail"])
    assert "`pay`" in rule
    assert "`send_mail`" in rule
    assert "{" not in rule
